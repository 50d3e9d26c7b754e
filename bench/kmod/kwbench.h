/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What bench_kunwind asks of the module that counts, /dev/kwbench. */
#ifndef KWBENCH_H
#define KWBENCH_H

#include <linux/ioctl.h>
#include <linux/types.h>

enum kwbench_what {
	KWBENCH_KUNWIND, /* kunwind_user_pcs() */
	KWBENCH_FP,      /* the kernel's own stack_trace_save_user() */
	KWBENCH_NR
};

/* The caller's stack, innermost frame first: what taking it costs. */
struct kwbench {
	__u32 what, max;
	__u64 pcs; /* pointer to __u64[max] */
	/* Out: */
	__u64 first;       /* ticks of the first time, */
	__u64 again;       /* and of the least of several more */
	__u32 first_stack; /* bytes of the kernel's stack that the first wrote to, */
	__u32 stack;       /* and the last */
	__u32 nr;          /* frames */
	__u32 unused;
};

/* Sizes of what the module keeps, in bytes. */
struct kwbench_sizes {
	__u32 table, use, segment; /* of an object, beside the table's bytes */
	__u32 space, range;        /* of a process, and each of its mappings */
	__u32 context;             /* of a CPU, in each of four contexts */
};

#define KWBENCH_RUN   _IOWR('K', 0xb0, struct kwbench)
#define KWBENCH_SIZES _IOR('K', 0xb1, struct kwbench_sizes)

#endif /* KWBENCH_H */
