/* SPDX-License-Identifier: BSD-2-Clause */
/* Different stacks and how often each came. */
#ifndef OW_SAMPLESTORE_H
#define OW_SAMPLESTORE_H

#include <outwind/record.h>

#include "ow_sample.h"

struct ow_stored {
	struct ow_sample_key key;
	struct ow_recorded is; /* its packed frames are its own */
	unsigned int unused;   /* so often it was drained with no count */
};

/* All zero is empty. */
struct ow_samplestore {
	struct ow_stored **slots; /* hashed, at most half full */
	size_t nr, room;
	size_t nr_ever; /* that were stored, dropped ones too */
	size_t bytes;   /* that all stacks take */
};

/* The one of that key, or NULL. */
struct ow_stored *ow_samplestore_find(const struct ow_samplestore *s,
				      const struct ow_sample_key *key);

/*
 * Add a stack that has come from the kernel, if it isn't there: head, and
 * behind it its frames.  It was taken at that time (CLOCK_MONOTONIC, ns).  NULL
 * when out of memory.
 */
struct ow_stored *ow_samplestore_add(struct ow_samplestore *s,
				     const struct ow_bpf_stack *head,
				     const uint64_t *frames, uint64_t time);

/*
 * Give each one that was counted to take(), and count from 0 again, unless that
 * returns false: for another time.
 */
void ow_samplestore_drain(struct ow_samplestore *s,
			  bool (*take)(void *arg, const struct ow_recorded *r),
			  void *arg);

/*
 * Drop those that weren't counted when they were drained the last two times: the
 * kernel has no count of theirs any more, and lets one leave again if it comes
 * again.  forget() is told of each before.
 */
void ow_samplestore_drop(struct ow_samplestore *s,
			 void (*forget)(void *arg, const struct ow_recorded *r),
			 void *arg);

void ow_samplestore_deinit(struct ow_samplestore *s);

#endif /* OW_SAMPLESTORE_H */
