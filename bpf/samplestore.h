/* SPDX-License-Identifier: BSD-2-Clause */
/* Different stacks and how often each came. */
#ifndef OW_SAMPLESTORE_H
#define OW_SAMPLESTORE_H

#include <outwind/record.h>

#include "ow_sample.h"

struct ow_stored {
	struct ow_sample_key key;
	struct ow_recorded is; /* its packed frames are its own */
	uid_t uid;             /* whose share it is in */
	uint64_t used;         /* the period that it was used in last */
	uint64_t checked;      /* as its process, when it was counted last */
	uint64_t fresh;        /* counted since then, of is.count */
};

/* What is stored for one process or user. */
struct ow_store_share {
	uint64_t owner; /* 0: there is none */
	size_t bytes;
};

/*
 * All zero is empty.  Any process can have stacks without end that are all
 * different: so there is a limit, and no process, and no user but root, may add more
 * than half of what others leave over.  Further stacks of a process are one without
 * frames (is_folded).
 */
struct ow_samplestore {
	struct ow_stored **slots; /* hashed, at most half full */
	size_t nr, room;
	size_t nr_ever;  /* that were stored, dropped ones too */
	size_t bytes;    /* that all stacks take */
	size_t limit;    /* most bytes; 0: there is no limit */
	uint64_t period; /* each ends with ow_samplestore_drop() */
	size_t nr_folded;
	bool is_short;  /* one had no room since the last drain, */
	bool was_short; /* or ever: not in the kernel, but here */
	struct ow_store_share *shares; /* hashed, at most half full */
	size_t nr_shares, room_shares;
};

/* The one of that key, or the one that it was folded to, or NULL. */
struct ow_stored *ow_samplestore_find(const struct ow_samplestore *s,
				      const struct ow_sample_key *key);

/*
 * Add a stack that has come from the kernel, if it isn't there: head, which the kernel
 * may have folded, and its frames.  It was taken at that time (CLOCK_MONOTONIC, ns).
 * Where there is no room for it, return the one that it is folded to; NULL if there is
 * no room for that, either.
 */
struct ow_stored *ow_samplestore_add(struct ow_samplestore *s,
				     const struct ow_bpf_stack *head,
				     const uint64_t *frames, uint64_t time);

/*
 * Give each one that was counted to take(), and count from 0 again, unless that
 * returns false: for another time.  Processes, and users but root, take turns, with
 * their most frequent stacks first: whoever has few is not kept waiting by many.
 */
void ow_samplestore_drain(struct ow_samplestore *s,
			  bool (*take)(void *arg, const struct ow_recorded *r),
			  void *arg);

/* The kernel knows of the stack, and may count it without letting it leave again. */
void ow_samplestore_use(const struct ow_samplestore *s,
			struct ow_stored *stored);

/*
 * End a period, and drop the stacks that were not used in the last two of them and had
 * no count when they were drained: the kernel has no count of theirs any more, and lets
 * one leave again if it comes again.  forget() is told of each before.
 */
void ow_samplestore_drop(struct ow_samplestore *s,
			 void (*forget)(void *arg, const struct ow_recorded *r),
			 void *arg);

void ow_samplestore_deinit(struct ow_samplestore *s);

#endif /* OW_SAMPLESTORE_H */
