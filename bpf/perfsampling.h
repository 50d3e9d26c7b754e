/* SPDX-License-Identifier: BSD-2-Clause */
/* Sampling by perf events: what the engines that do so share. */
#ifndef OW_PERFSAMPLING_H
#define OW_PERFSAMPLING_H

#include "copywalk.h"
#include "perfchecks.h"
#include "perfcounts.h"
#include "perfmoves.h"
#include "perfthreads.h"
#include "recorder.h"

#define OW_PERFSAMPLING_NAMES 1024 /* of threads that are known at once */
#define OW_PERFSAMPLING_REGS  18   /* of a sample: all to walk by, and cs */

/* A sample's parts, borrowed from its record. */
struct ow_perfsample {
	uint32_t pid, tid;
	uint64_t time;
	bool is_user;           /* the program ran, not the kernel */
	const uint64_t *kernel; /* of its call chain: the kernel's part, */
	size_t nr_kernel;
	const uint64_t *user; /* and the program's */
	size_t nr_user;
	const uint64_t *regs; /* in the kernel's order; NULL: none */
	const uint8_t *stack;
	uint64_t stack_size;
};

/* A thread's name, as the kernel told it, or as it was at its first sample. */
struct ow_perfname {
	uint32_t pid, tid; /* tid 0: none */
	char comm[16];
	bool is_inherited; /* it was its parent's */
	uint64_t as_of;    /* CLOCK_MONOTONIC, ns */
};

/* What such an engine keeps, at r->priv: first in its own structure. */
struct ow_perfsampling {
	struct ow_perfrings rings;
	struct ow_perfchecks checks;
	struct ow_perfmoves moves;
	struct ow_perfcounts counts;
	struct ow_perfthreads threads; /* that are not watched yet */
	struct perf_event_attr attr; /* the engine has filled it before add() */
	struct ow_copywalk walks;
	struct ow_perfname names[OW_PERFSAMPLING_NAMES]; /* by tid */
	uint64_t names_lost_at; /* what came until then may not have been told */
	pid_t *added;           /* processes, by their numbers */
	size_t nr_added, room_added;
	/*
	 * Put the program's frames into walks.packed[first] and further; image
	 * is NULL for a thread of the kernel's own.  Return their number.
	 */
	size_t (*walk)(struct ow_recorder *r, const struct ow_perfsample *s,
		       struct ow_image *image, size_t first, enum ow_end *end);
};

/*
 * Open: the engine's structure of size bytes, zeroed, becomes r->priv, with an
 * attr that tells what processes do and samples at the recorder's frequency.
 * name is for messages.
 */
int ow_perfsampling_open(struct ow_recorder *r, size_t size, const char *name,
			 struct ow_error *err);

/* Once attr is complete: who is sampled from the start on. */
int ow_perfsampling_begin(struct ow_recorder *r, struct ow_error *err);

/*
 * The registers of a sample, as the kernel was asked for them.  Return whose they are
 * by the code segment; NULL: one that a program has made for itself.
 */
void ow_perfsampling_ask_regs(struct perf_event_attr *attr);
const struct ow_arch *ow_perfsampling_regs(const uint64_t *values,
					   struct ow_regs *ret);

/* What all operations of such an engine are, but open. */
int ow_perfsampling_add(struct ow_recorder *r, pid_t pid, struct ow_error *err);
int ow_perfsampling_settle(struct ow_recorder *r, struct ow_error *err);
int ow_perfsampling_start(struct ow_recorder *r, struct ow_error *err);
int ow_perfsampling_wait(struct ow_recorder *r, unsigned int ms,
			 struct ow_error *err);
void ow_perfsampling_stop(struct ow_recorder *r);
int ow_perfsampling_collect(struct ow_recorder *r, struct ow_error *err);
void ow_perfsampling_count(struct ow_recorder *r, struct ow_recorder_stats *s);
void ow_perfsampling_close(struct ow_recorder *r);

#define OW_PERFSAMPLING_OPS                                               \
	.add = ow_perfsampling_add, .settle = ow_perfsampling_settle,     \
	.start = ow_perfsampling_start, .wait = ow_perfsampling_wait,     \
	.stop = ow_perfsampling_stop, .collect = ow_perfsampling_collect, \
	.count = ow_perfsampling_count, .close = ow_perfsampling_close

#endif /* OW_PERFSAMPLING_H */
