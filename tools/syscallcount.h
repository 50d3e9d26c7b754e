/* SPDX-License-Identifier: BSD-2-Clause */
/* Counts of system calls, by who makes them. */
#ifndef OW_SYSCALLCOUNT_H
#define OW_SYSCALLCOUNT_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "shares.h"

struct sitenames;
struct syscall_begun;
struct syscallsite;

struct syscall_count {
	uint64_t hash; /* of what follows, up to names */
	int nr;
	struct sitenames *names; /* or NULL: not known */
	uint64_t calls, errors, ns;
};

/*
 * All zero is empty.  A program can make calls from ever new places, and of ever new
 * numbers: there is a limit, of which each process and each user has a share, and what
 * has no room is counted together.
 */
struct syscallcounts {
	struct syscall_count *all; /* hashed, at most half full */
	size_t nr, room;
	struct shares_limit limit; /* bytes */
	struct syscall_count others;
};

/*
 * A call is over.  site: where it was made, or NULL.  It gets the names that the count has, as those are
 * the same text: so its later calls need not compare it.
 */
void syscallcount_add(struct syscallcounts *s, const struct syscall_begun *b,
		      struct syscallsite *site, uint64_t ns, bool failed);

/* A table, by time, with sums. */
void syscallcount_print(struct syscallcounts *s, FILE *out);

void syscallcounts_deinit(struct syscallcounts *s);

#endif /* OW_SYSCALLCOUNT_H */
