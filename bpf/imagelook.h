/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A look at what a process has mapped, and at the files of that.  The kernel, or who
 * serves a file, may keep it waiting: a delegate takes it, which can be given up on.
 */
#ifndef OW_IMAGELOOK_H
#define OW_IMAGELOOK_H

#include "error.h"
#include "images.h"
#include "mappings.h"

/* What a delegate asks of the kernel about a process; lost with the delegate. */
struct ow_imagelook {
	pid_t pid;
	pid_t live;    /* a thread of it whose /proc has the memory */
	bool has_list; /* the mappings are given, not asked for */
	bool failed;
	bool is_late;        /* failed: it has taken its time, */
	uint64_t until_ns;   /* which is over then: CLOCK_MONOTONIC */
	struct ow_error why; /* of a list that could not be had */
	long uid;            /* who answers for it; -1: it has ended */
	struct ow_mappings maps;
	struct ow_identity *files; /* of each mapping that has code */
};

/* A look at a process that is to be had; NULL without memory. */
struct ow_imagelook *ow_imagelook_create(const struct ow_image_user *user);

/* Likewise one that is given the mappings, whose files are to be looked at. */
struct ow_imagelook *ow_imagelook_create_at(const struct ow_image_user *user,
					    const struct ow_mapping *list,
					    size_t nr);

/* Free a look.  NULL does nothing. */
void ow_imagelook_destroy(struct ow_imagelook *l);

/*
 * Have the look taken.  Return it, which is the caller's then; or NULL, and it is
 * nobody's: it failed, or the process is not asked about now.
 */
struct ow_imagelook *ow_imagelook_have(struct ow_images *im,
				       struct ow_image_user *user,
				       struct ow_imagelook *l);

#endif /* OW_IMAGELOOK_H */
