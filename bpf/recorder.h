/* SPDX-License-Identifier: BSD-2-Clause */
/* A recorder, and what an engine is to it. */
#ifndef OW_RECORDER_H
#define OW_RECORDER_H

#include "images.h"
#include "kernelnames.h"
#include "samplestore.h"

struct ow_recorder;

struct ow_engine_ops {
	/* Fill r->priv; what fails here may have left something to close(). */
	int (*open)(struct ow_recorder *r, struct ow_error *err);
	int (*add)(struct ow_recorder *r, pid_t pid, struct ow_error *err);
	/* Divide among all that were added what there is too little of.  Or NULL. */
	int (*settle)(struct ow_recorder *r, struct ow_error *err);
	int (*start)(struct ow_recorder *r, struct ow_error *err);
	int (*wait)(struct ow_recorder *r, unsigned int ms,
		    struct ow_error *err);
	void (*stop)(struct ow_recorder *r);
	/* Bring r->store's counts up to date. */
	int (*collect)(struct ow_recorder *r, struct ow_error *err);
	/* Mark what is counted later as in use; false: all may be.  Or NULL. */
	bool (*keep)(struct ow_recorder *r);
	/* Count what was stored so far, and forget all objects, which no program
	   knows any more; false: out of memory.  Or NULL. */
	bool (*renew)(struct ow_recorder *r);
	/* Work no more with the object of a number; false: it is in use.  Or NULL. */
	bool (*release)(struct ow_recorder *r, uint32_t number);
	/* Forget released objects, whose numbers are to be others'; false: out of
	   memory.  Or NULL. */
	bool (*forget)(struct ow_recorder *r, const uint32_t *numbers,
		       uint32_t nr);
	void (*count)(struct ow_recorder *r, struct ow_recorder_stats *s);
	/* As ow_recorder_losses().  Or NULL. */
	size_t (*losses)(struct ow_recorder *r, struct ow_recorded_loss *ret,
			 size_t max);
	void (*close)(struct ow_recorder *r);
};

extern const struct ow_engine_ops ow_bpf_engine;
extern const struct ow_engine_ops ow_perf_engine;
extern const struct ow_engine_ops ow_ptrace_engine;
extern const struct ow_engine_ops ow_kunwind_engine;

/*
 * A long recording comes to know ever more files and names.  When that has become
 * much it begins anew: the programs are told to walk by nothing that is known, and
 * when that is past, and all stacks are named, all that was known is forgotten.
 *
 * All zero: nothing was forgotten yet.
 */
struct ow_renewal {
	size_t memory;  /* bytes of our own after it; 0: not known */
	uint64_t last;  /* CLOCK_MONOTONIC, ns: when it was done */
	uint64_t since; /* when programs were told; 0: it isn't under way */
};

struct ow_recorder {
	struct ow_recorder_options options;
	const struct ow_engine_ops *ops;
	struct ow_sampledobjects objects;
	struct ow_images images;
	struct ow_samplestore store;
	struct ow_recorder_stats stats;
	struct ow_kernelnames kernel;
	struct ow_renewal renewal;
	uint64_t nr_entryless; /* samples taken with OW_END_KERNEL */
	uint64_t drained;      /* CLOCK_MONOTONIC, ns: last, or started */
	uint64_t dropped; /* CLOCK_MONOTONIC, ns: names were, the last time */
	uint64_t rested;  /* CLOCK_MONOTONIC, ns: files' pages were let go */
	bool is_stopped;
	size_t full_at; /* as many stacks: they had better be drained */
	void *priv;     /* the engine's */
};

/*
 * Count a stack that an engine walked itself: head, but for its key's hash,
 * and frames.
 */
int ow_recorder_count(struct ow_recorder *r, struct ow_bpf_stack *head,
		      const uint64_t *frames, uint64_t value);

/*
 * What a stack was counted for since its process was checked is not known to be named
 * rightly: count it for its innermost frame alone, of an image that stands for what
 * isn't known.
 */
void ow_recorder_doubt(struct ow_recorder *r, struct ow_stored *stored,
		       uint32_t image);

/*
 * Store a stack that was taken at that time (CLOCK_MONOTONIC, ns) if it isn't
 * stored yet, and have its image keep what names it.  NULL when out of memory.
 */
struct ow_stored *ow_recorder_store(struct ow_recorder *r,
				    const struct ow_bpf_stack *head,
				    const uint64_t *frames, uint64_t time);

/* CLOCK_MONOTONIC, ns: nothing is recorded after it; 0: no end is set. */
uint64_t ow_recorder_ends_at(const struct ow_recorder *r);

/* Return true if the time is over, or the user has asked for the end. */
bool ow_recorder_must_end(const struct ow_recorder *r);

#endif /* OW_RECORDER_H */
