/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The copy of a vCPU's stack; and the words of it that tell of another stack,
 * which was left for it: as that which an interrupt came upon.
 */
#ifndef OW_XENLINKS_H
#define OW_XENLINKS_H

#include "xenseam.h"

#define OW_XENSTACK_LINKS 4

/* One vCPU's. */
struct ow_xenstack {
	int err;             /* 0, or why there are no registers */
	uint64_t start;      /* addr of what was copied: its sp */
	size_t size, wanted; /* bytes there are, and were asked for */
	size_t room;         /* of bytes */
	uint8_t *bytes;
	size_t want;  /* of the next sample */
	bool is_cut;  /* there is more stack than was wanted */
	bool is_done; /* scratch: nothing more is to be had */
	bool certain; /* it did not run meanwhile */
	struct ow_xen_run run;
	uint64_t ran; /* scratch: run.cpu_time at the beginning */
	/* Where a stack tells of another one, that was left for it; the last
	   one that was needed comes first. */
	uint64_t links[OW_XENSTACK_LINKS];
	unsigned int nr_links; /* changes of links; of left: when followed */
	uint64_t link;         /* of left: which one told of it, or 0 */
};

/*
 * Somebody read a word at addr, which is none of stack's: find what on the
 * stack leads there, and want it from the next sample on.  left: what was
 * copied of the stack that was left; word: the size of one.
 */
void ow_xenlinks_learn(struct ow_xenstack *stack, struct ow_xenstack *left,
		       size_t word, uint64_t addr, size_t size);

/*
 * Is there a word on this stack that is known to tell of the one left?  Then
 * left's start is set.
 */
bool ow_xenlinks_follow(const struct ow_xenstack *stack,
			struct ow_xenstack *left, size_t word);

#endif /* OW_XENLINKS_H */
