/* SPDX-License-Identifier: BSD-2-Clause */
/* Walks of copied stacks, by all images of a recorder. */
#ifndef OW_COPYWALK_H
#define OW_COPYWALK_H

#include "imagewalk.h"
#include "userefforts.h"

struct ow_copywalk {
	struct ow_images *images;
	/* Of the stack that is walked next: whose it is, and when it was taken. */
	uid_t uid;
	uint64_t time;                  /* CLOCK_MONOTONIC, ns */
	struct ow_userefforts cfi_work; /* cfiwork.h */
	struct ow_cache cache;
	struct ow_livemem *live; /* of who doesn't run now; or NULL */
	struct ow_walk walk;
	struct ow_frame *frames;
	uint64_t *packed; /* the frames found, as struct ow_recorded has them,
			     behind room for the kernel's */
	unsigned int max;
};

int ow_copywalk_init(struct ow_copywalk *w, struct ow_images *images,
		     unsigned int max, struct ow_error *err);
void ow_copywalk_deinit(struct ow_copywalk *w);

/*
 * How walks see an image, of whose code that of arch runs (x86-64 or i386), with
 * no stack; NULL when out of memory.
 */
struct ow_imagewalk *ow_copywalk_by(struct ow_copywalk *w,
				    struct ow_image *image,
				    const struct ow_arch *arch);

/* A walk by that image begins: rows that may be others by now are forgotten. */
void ow_copywalk_begin(struct ow_copywalk *w, struct ow_imagewalk *by);

/* What CFI may run in a walk for w's user; it isn't taken. */
uint64_t ow_copywalk_cfi_left(struct ow_copywalk *w);

/* Take what CFI has run in such a walk. */
void ow_copywalk_spend_cfi(struct ow_copywalk *w, uint64_t bytes);

/*
 * Walk from regs over a piece of the stack; frames are at packed[first] and
 * further.  Return their number.  Where there is no time for a stack of that user, it is
 * the innermost frame alone, and *end_ret is OW_END_COSTLY.
 */
size_t ow_copywalk_run(struct ow_copywalk *w, struct ow_image *image,
		       const struct ow_arch *arch, const struct ow_regs *regs,
		       const struct ow_window *stack, size_t first,
		       enum ow_end *end_ret);

#endif /* OW_COPYWALK_H */
