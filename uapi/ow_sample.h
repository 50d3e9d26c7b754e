/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) WITH Linux-syscall-note */
/*
 * What BPF programs and their loader share: how unwind tables and processes'
 * mappings lie in maps, and what leaves the kernel.
 *
 * An object's map holds its compact table (ow_table.h) in parts: rows, block[]
 * and seqs as they are, but codes as struct ow_bpf_rule, ready to be executed,
 * and behind them what rows that the table leaves to the full CFI come to, if
 * BPF can execute them.  For each page of 1 << page_shift bytes of code, and for
 * what is behind the last one, __u32 pages[nr_pages + 1] has the last block that
 * begins at or before the page does (or the first block).
 */
#ifndef UAPI_OW_SAMPLE_H
#define UAPI_OW_SAMPLE_H

#include "ow_frame.h"
#include "ow_table.h"

#define OW_BPF_CHUNK     64     /* bytes of one value of an object's map */
#define OW_BPF_OBJECTS   8192   /* at a time; number 0 is none */
#define OW_BPF_RANGES    131072 /* of all processes together */
#define OW_BPF_FRAMES    1024   /* of a program, at most */
#define OW_BPF_KERNEL    128    /* of the kernel, at most */
#define OW_BPF_SAVES     16
#define OW_BPF_NUMBERS   1024                 /* of system calls, of one ABI */
#define OW_BPF_SYSCALLS  (2 * OW_BPF_NUMBERS) /* with i386's behind them */
#define OW_BPF_TEXT      4096                 /* PATH_MAX */
#define OW_BPF_ADDRESS   0x10 /* a text is one of a socket: its size follows */
#define OW_BPF_MAX_DEPTH 31   /* words of a frame's area */
#define OW_BPF_SLOTS     3 /* programs of a CPU that may interrupt each other */
#define OW_BPF_MOST_ENDS 16 /* of enum ow_end; a power of two */

enum ow_bpf_kind {
	OW_BPF_NONE,   /* nothing covers this */
	OW_BPF_ESCAPE, /* only the full CFI tells */
	OW_BPF_REG,    /* CFA = register + cfa_off */
	OW_BPF_AT_REG, /* CFA = *(register + cfa_off) + cfa_add */
	OW_BPF_PLT,    /* a stub: CFA = sp + 8, or 16 behind its push */
	OW_BPF_SIGNAL, /* the kernel's signal frame at sp */
	OW_BPF_SEQ,    /* a sequence at cfa_off in seqs */
	OW_BPF_FP,     /* frame pointer */
	OW_BPF_CALL,   /* a call to nowhere */
};

enum ow_bpf_rule_flags {
	OW_BPF_RULE_SIGNAL = 1,
	OW_BPF_RULE_OUTERMOST = 2,
	OW_BPF_RULE_LAST = 4,   /* of a row found, as OW_ROW_LAST */
	OW_BPF_RULE_IN_REG = 8, /* the return address is in a register */
};

#define OW_BPF_BASE_CFA 0xff

/* Of a save's word: words below the CFA, not in the area. */
#define OW_BPF_SAVE_AT_CFA 0x80
#define OW_BPF_SAVE_DEPTH  0x7f

/*
 * A row: the CFA, and one area of memory that registers are loaded from, which
 * begins at base + base_off and has depth words.  Where the area is not at the CFA,
 * registers may be loaded from there one by one besides.
 */
struct ow_bpf_rule {
	__u8 kind; /* enum ow_bpf_kind */
	__u8 flags;
	__u8 cfa_reg;
	__u8 nr;
	__u8 depth;
	__u8 base; /* slot, or OW_BPF_BASE_CFA */
	__u8 how;  /* enum ow_how */

	union {
		__u8 pushed; /* OW_BPF_PLT: bytes behind 16 where it has pushed */
		__u8 ra_reg;  /* OW_BPF_RULE_IN_REG: slot */
		__s8 cfa_add; /* OW_BPF_AT_REG, the return address not in one */
	};

	__s32 cfa_off;
	__s32 base_off;

	struct {
		__u8 slot;
		__u8 word; /* in the area */
	} saves[OW_BPF_SAVES];
};

/* A row that the table leaves to the CFI: from off (less base) up to the next. */
struct ow_bpf_extra {
	__u32 off;
	__u32 last; /* off of its FDE's last byte */
	struct ow_bpf_rule rule;
	__u8 reserved[8];
};

/* Blocks of rows begin the map; other parts of the table at offsets in it. */
struct ow_bpf_object {
	__u64 base;  /* vaddr that offsets count from */
	__u64 entry; /* vaddr where the program starts, or 0 */
	__u32 nr_blocks, nr_pages, nr_codes, nr_extras;
	__u32 blocks, pages, codes, seqs, extras;
	__u32 page_shift;
	__u16 state; /* enum ow_bpf_state */
	__u16 word;  /* bytes of an address: whose program's it may be */
	__u32 used;  /* the loader's time when it was read last */
};

enum ow_bpf_state {
	OW_BPF_NO_TABLE, /* the object has no CFI: by frame pointers */
	OW_BPF_READY,
	OW_BPF_EVICTED, /* is loaded again when it is asked for */
	OW_BPF_LATE, /* likewise, but not as soon: by frame pointers for now */
};

/* The architecture, as core/arch.h has it. */
struct ow_bpf_arch {
	__u64 callee_saved;
	__u8 pc, sp, fp, ra;
	__u32 reserved;
};

/* An executable mapping of a process. */
struct ow_bpf_range {
	__u64 start, end, bias;
	__u32 object; /* 0: code of no object, a JIT's */
	__u32 mapped; /* object, or what could not be opened as one */
};

#define OW_BPF_NO_ROOM \
	0xffffffffU /* mapped: there was no room for what is there */

/*
 * A process whose mappings are known.  Before its ranges lies one that heads them:
 * object is image as long as they lie there, and start is the loader's time when
 * they were used last.
 */
struct ow_bpf_process {
	__u32 image;      /* number of this list of mappings; not 0 */
	__u32 first, nr;  /* its ranges */
	__u32 is_between; /* programs': exec is under way.  The loader says 0 */
	__u64 as_of;      /* CLOCK_MONOTONIC, ns: later changes aren't in it, */
	__u64 looked;     /* nor later ones that no perf event tells of */
};

#define OW_BPF_SUBUIDS 4096

/* Subordinate ids of one user. */
struct ow_bpf_subuids {
	__u32 first, last;
	__u32 owner;
};

/* What was going on. */
enum ow_sample_kind {
	OW_SAMPLE_CPU,
	OW_SAMPLE_OFF_CPU, /* value is in nanoseconds */
	OW_SAMPLE_FAULT,
	OW_SAMPLE_SYSCALL,
};

/* What is counted: equal stacks of equal threads have one. */
struct ow_sample_key {
	__u64 hash; /* of the frames, and of the thread's name */
	__u32 image;
	__u32 pid, tid; /* tid only where threads are told apart, else 0 */
	__u8 kind;      /* enum ow_sample_kind */
	__u8 end;       /* enum ow_end */
	__u16 reserved;
};

/* Have the key stand for all stacks of the process that there is no room for. */
static inline __attribute__((always_inline)) void
ow_sample_fold(struct ow_sample_key *key)
{
	key->hash = 0;
	key->image = 0;
	key->tid = 0;
	key->end = OW_END_LIMIT;
}

/* Nonzero if ow_sample_fold() made the key. */
static inline __attribute__((always_inline)) int
ow_sample_is_folded(const struct ow_sample_key *key)
{
	return !key->hash && !key->image && !key->tid &&
	       key->end == OW_END_LIMIT;
}

/* What a process, or a user, has taken of the room for stacks. */
struct ow_bpf_share {
	__u64 end;   /* the ring's position behind what it sent last */
	__u32 bytes; /* that it sent since the ring had nothing of its */
	__u32 nr;    /* keys that it has counted */
};

#define OW_BPF_CALLERS 8192

/* What the calls of a process, or of a user, have of the ring. */
struct ow_bpf_callshare {
	__u64 mark; /* a position in the ring, */
	__u64 before,
		since; /* and the bytes that it sent before it, and since */
	__u64 lost;    /* calls and results, ever */
};

struct ow_sample_value {
	__u64 count, value; /* value: nanoseconds, where kind has them */
};

/*
 * A frame as it leaves: the pc, and in the uppermost byte the flags of enum
 * ow_frame_flags in two bits, and above them enum ow_how.
 */
#define OW_SAMPLE_PC(f)    ((f)&0xffffffffffffffULL)
#define OW_SAMPLE_FLAGS(f) ((f) >> 56 & 3)
#define OW_SAMPLE_HOW(f)   ((f) >> 58 & 63)
#define OW_SAMPLE_FRAME(pc, how, flags) \
	((pc) | (__u64)(flags) << 56 | (__u64)(how) << 58)

enum ow_bpf_event {
	OW_BPF_EVENT_STACK,   /* struct ow_bpf_stack */
	OW_BPF_EVENT_COPY,    /* struct ow_bpf_copy: it is walked outside */
	OW_BPF_EVENT_EVICTED, /* arg is the object that is needed again */
	OW_BPF_EVENT_ENTER,   /* struct ow_bpf_syscall: a system call begins, */
	OW_BPF_EVENT_LEAVE,   /* struct ow_bpf_result: and ends */
	OW_BPF_EVENT_PROGRAM, /* struct ow_bpf_result: its text is executed */
	OW_BPF_EVENT_GONE,    /* arg is a thread that has ended */
};

#define OW_BPF_UNTOLD 1 /* of a copy: what is mapped isn't known any more */

struct ow_bpf_notice {
	__u32 type; /* enum ow_bpf_event */
	__u32 pid;
	__u64 arg;
};

/*
 * The first time that a key is counted, its stack leaves: arg is the time then,
 * CLOCK_MONOTONIC, ns.
 */
struct ow_bpf_stack {
	struct ow_bpf_notice notice;
	struct ow_sample_key key;
	__u32 tid;
	__u16 nr_kernel, nr; /* frames; the program's follow the kernel's */
	__u32 uid;           /* the user who answers for the process */
	__u32 reserved;
	char comm[16];
	/* __u64 frames[nr_kernel + nr] */
};

#define OW_BPF_REGS       17
#define OW_BPF_PAGE       4096
#define OW_BPF_COPY_PAGES 16

/*
 * Nonzero if the loader may walk further than a stack that ended so: it has files and
 * all of the CFI.
 */
static inline __attribute__((always_inline)) int ow_bpf_is_for_loader(__u8 end)
{
	return end == OW_END_WANT || end == OW_END_NO_MODULE ||
	       end == OW_END_UNSUPPORTED;
}

/*
 * A stack that can't be walked in the kernel, to be walked outside: the kernel was
 * told too little of the process yet, or can't execute a row.
 */
struct ow_bpf_copy {
	struct ow_bpf_stack head; /* its key is no other stack's */
	__u64 time;               /* CLOCK_MONOTONIC, ns */
	__u64 untold; /* what no perf event tells of changed then; or 0 */
	__u64 low;    /* address of the first page */
	__u32 nr_pages;
	__u32 word;              /* bytes of an address, 8 or 4 */
	__u64 regs[OW_BPF_REGS]; /* by core/arch_x86_64.c or arch_i386.c */
	__u64 kernel[OW_BPF_KERNEL];
	__u8 stack[OW_BPF_COPY_PAGES * OW_BPF_PAGE]; /* nr_pages of them leave */
};

/*
 * A system call's number has bits for its ABI: these, or none on x86-64.  Both:
 * one that i386 hasn't.
 */
#define OW_BPF_I386 0x20000000
#define OW_BPF_X32  0x40000000 /* as in the kernel */

/*
 * Where it is among all ABIs' calls, x32's being x86-64's, and i386's behind them;
 * OW_BPF_SYSCALLS: none of them.
 */
static inline __attribute__((always_inline)) __u32 ow_bpf_call_place(__u32 nr)
{
	__u32 n = nr & ~(nr & OW_BPF_I386 ? OW_BPF_I386 : OW_BPF_X32);

	if (n >= OW_BPF_NUMBERS)
		return OW_BPF_SYSCALLS;
	return nr & OW_BPF_I386 ? n + OW_BPF_NUMBERS : n;
}

/* Of both arg is the time: CLOCK_MONOTONIC, ns. */
struct ow_bpf_syscall {
	struct ow_bpf_notice notice;
	__u32 tid;
	__s32 nr;
	struct ow_sample_key key; /* of the stack; all zero: there is none */
	__u64 args[6];
	/* char text[], that an argument points to, with its NUL; or nothing */
};

struct ow_bpf_result {
	struct ow_bpf_notice notice;
	__u32 tid;
	__s32 nr;
	__s64 result;
	/* char text[], if it could not be read before */
};

/* What a thread waits for, and since when. */
struct ow_bpf_wait {
	__u64 since; /* CLOCK_MONOTONIC, ns; 0: it waits no more */
	struct ow_sample_key key;
};

/*
 * A thread that waited when recording began, as it is read from an iterator.
 * Its stack is for the loader to read, while the thread still waits.
 */
struct ow_bpf_waiting {
	struct ow_bpf_stack head; /* its key is no other stack's */
	__u64 time;               /* CLOCK_MONOTONIC, ns */
	__u32 word; /* as of a copy; 0: its code is of no kind that is known */
	__u32 reserved;
	__u64 regs[OW_BPF_REGS]; /* of a program */
	__u64 kernel[OW_BPF_KERNEL];
};

enum ow_bpf_count {
	OW_BPF_SAMPLES, /* taken, all */
	OW_BPF_MISSED,  /* of processes that had no tables yet */
	OW_BPF_COPIED,  /* of such, but walked outside */
	OW_BPF_LOST,    /* no room for the count or for the stack */
	OW_BPF_SEEN,    /* frames */
	OW_BPF_COLD,    /* frames whose row was looked up in a table */
	OW_BPF_ENDS,    /* and OW_BPF_MOST_ENDS: why stacks ended */
	OW_BPF_NR_COUNTS = OW_BPF_ENDS + OW_BPF_MOST_ENDS
};

struct ow_bpf_tallies {
	__u64 nr[OW_BPF_NR_COUNTS];
};

_Static_assert(OW_NR_ENDS <= OW_BPF_MOST_ENDS, "all of them");
_Static_assert(sizeof(struct ow_bpf_rule) == 48, "no padding");
_Static_assert(sizeof(struct ow_bpf_extra) == 64, "one value of a map");
_Static_assert(sizeof(struct ow_bpf_object) == 64, "one cache line");
_Static_assert(sizeof(struct ow_sample_key) == 24, "hashed as bytes");

#endif /* UAPI_OW_SAMPLE_H */
