/* SPDX-License-Identifier: BSD-2-Clause */
/* Counts of system calls, by who makes them. */
#ifndef OW_SYSCALLCOUNT_H
#define OW_SYSCALLCOUNT_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct syscall_count {
	int nr;
	char *where; /* function, or NULL: not known */
	char *stack; /* or NULL: not told apart by it */
	uint64_t calls, errors, ns;
};

/* All zero is empty. */
struct syscallcounts {
	struct syscall_count *all; /* sorted, by where, stack and then nr */
	size_t nr, room;
};

void syscallcount_add(struct syscallcounts *s, int nr, const char *where,
		      const char *stack, uint64_t ns, bool failed);

/* A table, by time, with sums. */
void syscallcount_print(struct syscallcounts *s, FILE *out);

void syscallcounts_deinit(struct syscallcounts *s);

#endif /* OW_SYSCALLCOUNT_H */
