/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) WITH Linux-syscall-note */
/*
 * The compact unwind table of one object, as it lies in a file, in a BPF map
 * and in kernel memory.  Little-endian, no padding, in this order:
 *
 *	struct ow_table_head
 *	__u32 block[nr_blocks]            first vaddr of each, less base; sorted
 *	struct ow_table_set set[nr_sets]  registers saved, and the CFA's
 *	__u8  rows[rows_size]             blocks of 64 bytes, the last one cut
 *	__u8  codes[3 * nr_codes]         what a row's code stands for
 *	__u8  saves[saves_size]           pairs of registers and places
 *	__u8  seqs[seqs_size]             sequences
 *
 * Rows lie in blocks, so that a look-up reads one __u32 for each step of its
 * search and then 64 bytes.  A row holds up to the next one, also from block to
 * block.  A block of nr rows is
 *
 *	__u8 nr
 *	__u8 distance[nr - 1]  bytes from each row's vaddr to the next one's
 *	__u8 code[nr]          what the rows are; frequent ones are low
 *	__u8 more[]
 *
 * Of all these distances and codes, each that is not below OW_TABLE_LONG goes on
 * in the next byte of more[].
 *
 * A row whose code is a sequence stands for several: prologues and epilogues
 * look alike, and are kept once.  A sequence is written like a block, though it
 * begins anywhere in seqs[], and no code in it is a sequence.
 */
#ifndef UAPI_OW_TABLE_H
#define UAPI_OW_TABLE_H

#ifndef __VMLINUX_H__ /* BPF programs take __u16 from vmlinux.h instead */
#include <linux/types.h>
#endif

#define OW_TABLE_MAGIC    0x5442574fU /* "OWBT" */
#define OW_TABLE_VERSION  4
#define OW_TABLE_BLOCK    64 /* bytes of rows, and most of a sequence */
#define OW_TABLE_BUILD_ID 8

struct ow_table_head {
	__u32 magic;
	__u16 version;
	__u16 machine; /* e_machine */
	__u64 check;   /* of all other bytes; see ow_table_checksum() */
	__u64 base;    /* vaddr that block[] counts from */
	__u8 build_id[OW_TABLE_BUILD_ID]; /* its first bytes */
	__u32 rows_size; /* nr_blocks is this by OW_TABLE_BLOCK, rounded up */
	__u32 seqs_size;
	__u16 nr_codes;
	__u16 nr_sets;
	__u16 saves_size;
	__u8 word; /* bytes of an address */
	__u8 ra;   /* slot that holds the return address afterwards */
};

/*
 * A distance or code that begins with a byte b of OW_TABLE_LONG or more and goes
 * on with m is OW_TABLE_LONG + ((b - OW_TABLE_LONG) << 8) + m.
 */
#define OW_TABLE_LONG       0xc0
#define OW_TABLE_MAX_NUMBER (OW_TABLE_LONG + 0x3fff)

/* Codes of rows. */
enum {
	OW_TABLE_NONE = 0,   /* no CFI covers this */
	OW_TABLE_ESCAPE = 1, /* ask the full CFI: too rare for the table */
	OW_TABLE_SIGNAL = 2, /* the same, but it says nothing else than that sp
				is at the kernel's signal frame: the machine's
				first kind in struct ow_arch */
	OW_TABLE_FIRST = 3,  /* and more: this plus an index in codes[] */
};

/*
 * What stands in codes[], three bytes each: where in seqs[] a sequence begins,
 * or a rule.  A rule: CFA = the set's register + words * word size, and the
 * registers that the set lists are saved at places below the CFA.
 */
#define OW_TABLE_CODE_IS_SEQ(c)   ((c)&1)
#define OW_TABLE_CODE_SEQ(c)      ((c) >> 1)
#define OW_TABLE_CODE_SET(c)      ((c) >> 1 & 0x3ff) /* index in set[] */
#define OW_TABLE_CODE_WORDS(c)    ((c) >> 11)
#define OW_TABLE_SEQ(off)         ((__u32)(off) << 1 | 1)
#define OW_TABLE_RULE(set, words) ((__u32)(set) << 1 | (__u32)(words) << 11)

#define OW_TABLE_MAX_SETS  0x400
#define OW_TABLE_MAX_WORDS 0x1fff
#define OW_TABLE_MAX_SEQ   0x7fffff

struct ow_table_set {
	__u16 saves; /* where in saves[]: pairs of slot (__u8) and words from
			the CFA (__s8) */
	__u8 head;   /* their number, and OW_TABLE_SET_* */
	__u8 reg;    /* slot: the CFA's register */
};

#define OW_TABLE_SET_NR(b)     ((b)&0x1f)
#define OW_TABLE_SET_RA        0x20 /* and the return address at CFA - 1 word */
#define OW_TABLE_SET_SIGNAL    0x40 /* the caller was interrupted */
#define OW_TABLE_SET_OUTERMOST 0x80 /* there is no caller */
#define OW_TABLE_MAX_SAVES     0x1f

_Static_assert(sizeof(struct ow_table_head) == 48, "no padding");
_Static_assert(sizeof(struct ow_table_set) == 4, "no padding");

#endif /* UAPI_OW_TABLE_H */
