/* SPDX-License-Identifier: BSD-2-Clause */
/* Where system calls are made, named once. */
#ifndef OW_SYSCALLSITE_H
#define OW_SYSCALLSITE_H

#include <outwind/record.h>

#include "shares.h"

struct sitenames;

struct syscallsite {
	uint64_t hash;
	struct ow_recorded is; /* the first such stack; its frames are its own */
	size_t bytes;          /* that it counts for */
	unsigned int users;    /* that hold it */
	bool is_used;          /* since sites went the last time */
	bool is_cut;           /* the name in place isn't whole */
	char *place;           /* as sitenames_make() has it, or NULL */
	struct sitenames *names; /* or NULL */
};

/*
 * All zero is empty; recorder and stacks are to be set.  A program can make calls from
 * ever new places: where there are many, those that came the longest ago go.  Who is
 * in many calls at once holds as many of them, which don't go: so each process and each
 * user has a share.
 */
struct syscallsites {
	struct ow_recorder *recorder;
	bool stacks; /* are to have names, too */
	struct syscallsite **all;
	size_t nr, room;           /* a power of two */
	struct shares_limit limit; /* bytes */
	uint64_t thinned;          /* CLOCK_MONOTONIC, ns: when any went last */
};

/*
 * Where a call with that stack was made; NULL if it has no frames, where there is no
 * room for it, or it isn't there yet and isn't to be made.  It is the caller's until
 * syscallsite_release().
 */
struct syscallsite *syscallsite_hold(struct syscallsites *s,
				     const struct ow_recorded *is,
				     bool is_made);

/* site may be NULL. */
void syscallsite_release(struct syscallsite *site);

void syscallsites_deinit(struct syscallsites *s);

#endif /* OW_SYSCALLSITE_H */
