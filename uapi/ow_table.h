/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) WITH Linux-syscall-note */
/*
 * The compact unwind table of one object, as it lies in a file, in a BPF map
 * and in kernel memory.  Little-endian, no padding, in this order:
 *
 *	struct ow_table_head
 *	__u32 page[nr_pages + 1]          first row of each 64 KiB of vaddrs
 *	struct ow_table_row row[nr_rows]  sorted by vaddr
 *	__u32 rule[nr_rules]              see OW_TABLE_RULE_*
 *	__u16 set[nr_sets]                where in sets[] each set begins
 *	__u16 seq[nr_seqs + 1]            first part of each sequence
 *	__u16 part_rule[nr_parts]         as in a row, but never a sequence
 *	__u8  part_pc[nr_parts]           bytes from the row's vaddr
 *	__u8  sets[sets_size]             see OW_TABLE_SET_*
 *
 * A row holds from its vaddr up to the next row's, across pages.  The row of a
 * vaddr is the last one at or below it.  A row whose rule is a sequence stands
 * for several: prologues and epilogues look alike, and are kept once.
 */
#ifndef UAPI_OW_TABLE_H
#define UAPI_OW_TABLE_H

#ifndef __VMLINUX_H__ /* BPF programs take __u16 from vmlinux.h instead */
#include <linux/types.h>
#endif

#define OW_TABLE_MAGIC     0x5442574fU /* "OWBT" */
#define OW_TABLE_VERSION   1
#define OW_TABLE_PAGE_BITS 16
#define OW_TABLE_BUILD_ID  8

struct ow_table_head {
	__u32 magic;
	__u16 version;
	__u16 machine; /* e_machine */
	__u64 check;   /* of all other bytes; see ow_table_checksum() */
	__u64 base;    /* vaddr of page 0, a multiple of 64 KiB */
	__u32 nr_pages;
	__u32 nr_rows;
	__u16 nr_rules;
	__u16 nr_sets;
	__u16 sets_size;
	__u8 word; /* bytes of an address */
	__u8 ra;   /* slot that holds the return address afterwards */
	__u16 nr_seqs;
	__u16 nr_parts;
	__u32 reserved;
	__u8 build_id[OW_TABLE_BUILD_ID]; /* its first bytes */
};

struct ow_table_row {
	__u16 pc;   /* low half of the vaddr */
	__u16 rule; /* OW_TABLE_NONE, _ESCAPE, 2 + index in rule[], or
		       2 + nr_rules + index in seq[] */
};

enum {
	OW_TABLE_NONE = 0,   /* no CFI covers this */
	OW_TABLE_ESCAPE = 1, /* ask the full CFI: too rare for the table */
	OW_TABLE_FIRST = 2,
};

/*
 * A rule: CFA = register + words * word size, and the set of registers that
 * are saved at fixed places below the CFA.
 */
#define OW_TABLE_RULE_SET(r)   ((r)&0x3ff)        /* index in set[] */
#define OW_TABLE_RULE_REG(r)   ((r) >> 10 & 0x3f) /* slot */
#define OW_TABLE_RULE_WORDS(r) ((__s16)((r) >> 16))
#define OW_TABLE_RULE(set, reg, words) \
	((__u32)(set) | (__u32)(reg) << 10 | (__u32)(__u16)(words) << 16)

#define OW_TABLE_MAX_SETS    1024
#define OW_TABLE_MAX_NUMBERS 0xfffe /* rules and sequences together */
#define OW_TABLE_MAX_PARTS   16     /* of one sequence */

/*
 * A set: a byte of these, then as many pairs of slot (__u8) and words from the
 * CFA (__s8).
 */
#define OW_TABLE_SET_NR(b)     ((b)&0x1f)
#define OW_TABLE_SET_RA        0x20 /* and the return address at CFA - 1 word */
#define OW_TABLE_SET_SIGNAL    0x40 /* the caller was interrupted */
#define OW_TABLE_SET_OUTERMOST 0x80 /* there is no caller */
#define OW_TABLE_MAX_SAVES     0x1f

_Static_assert(sizeof(struct ow_table_head) == 56, "no padding");
_Static_assert(sizeof(struct ow_table_row) == 4, "one row, one map value");

#endif /* UAPI_OW_TABLE_H */
