/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Making the tables of objects and putting them in BPF maps, by threads of their
 * own: who tells what is mapped, and takes what was sampled, waits for neither.
 */
#ifndef OW_BPFTABLES_H
#define OW_BPFTABLES_H

#include "images.h"
#include "kerneltables.h"
#include "sampledobjects.h"
#include "tablesdue.h"

#define OW_BPFTABLES_THREADS 4

/* An object that there was no time for, and a user whose process has it mapped. */
struct ow_bpflate {
	uint32_t number;
	uid_t uid;
};

struct ow_bpftables {
	struct ow_sampledobjects *objects;
	struct ow_bpflate *late;
	size_t nr_late, room_late;
	uint64_t retried; /* CLOCK_MONOTONIC, ns: the last ow_bpftables_retry() */
	struct ow_kerneltables in;
	pthread_t threads[OW_BPFTABLES_THREADS];
	unsigned int nr_threads;

	/* What follows is for who has the lock of in. */
	bool must_halt; /* what is being made is given up */
	bool is_hasty;  /* tables are made before others may run */
	struct ow_tablesdue due;
	unsigned int making, making_large; /* threads that do */
	uint64_t waited;                   /* ns, by ow_bpftables_wait() */
};

int ow_bpftables_init(struct ow_bpftables *t, int tables, int heads,
		      size_t limit, struct ow_error *err);
void ow_bpftables_deinit(struct ow_bpftables *t);

/*
 * Have the table made of an object that a process of the user has mapped, if that has
 * not been tried, and there is room; or, lazily, not before a sample waits for it.
 */
void ow_bpftables_prepare(struct ow_bpftables *t, uint32_t number, uid_t uid,
			  bool lazily);

/*
 * A sample of the user's waits for an object's table: it is made before others, and
 * those that were not read for the longest time make room for it.
 */
void ow_bpftables_ask(struct ow_bpftables *t, uint32_t number, uid_t uid);

/*
 * Try again objects whose unwind information there was no time for: until then their stacks
 * are walked by frame pointers.
 */
void ow_bpftables_retry(struct ow_bpftables *t);

/*
 * Is it known what becomes of an object that was prepared?  Then *since is when
 * its table was there first (CLOCK_MONOTONIC, ns), or 0.
 */
bool ow_bpftables_is_settled(struct ow_bpftables *t, uint32_t number,
			     uint64_t *since);

/*
 * Wait until there is nothing to make now, or the recorder of the images is to end; but
 * for 5 seconds at most, by all calls: the stacks of what has no table yet are walked
 * outside of the kernel.
 */
void ow_bpftables_wait(struct ow_bpftables *t, const struct ow_images *im);

/*
 * Nobody has the object mapped any more: its table, if that is due, isn't made.  Return
 * true if no thread works with the object, which may be closed then.
 */
bool ow_bpftables_release(struct ow_bpftables *t, uint32_t number);

/*
 * Forget released objects, whose numbers no program knows any more: others may have
 * these.  Return false if there is no memory.
 */
bool ow_bpftables_forget(struct ow_bpftables *t, const uint32_t *numbers,
			 uint32_t nr);

/* Likewise all objects; what is being made is given up. */
bool ow_bpftables_forget_all(struct ow_bpftables *t);

/* From now on, tables are waited for: they are made before others may run. */
void ow_bpftables_hurry(struct ow_bpftables *t);

/* Nothing is waited for any more; what is in the making is given up. */
void ow_bpftables_stop(struct ow_bpftables *t);

/* Bytes in the kernel, and how many tables had to leave. */
void ow_bpftables_count(struct ow_bpftables *t, uint64_t *bytes,
			uint64_t *evictions);

#endif /* OW_BPFTABLES_H */
