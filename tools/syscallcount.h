/* SPDX-License-Identifier: BSD-2-Clause */
/* System calls that have begun, and counts of those that have ended. */
#ifndef OW_SYSCALLCOUNT_H
#define OW_SYSCALLCOUNT_H

#include <stdio.h>

#include <outwind/record.h>

struct syscall_begun {
	pid_t tid;
	bool is_open;
	struct ow_recorded_syscall call;
	char text[128];
};

struct syscall_site {
	int nr;
	char *where; /* function, or NULL: not known */
	uint64_t calls, errors, ns;
};

/* All zero is empty. */
struct syscallcount {
	struct syscall_begun *begun; /* by tid */
	size_t nr_begun, room_begun;
	struct syscall_site *sites; /* sorted, by where and then nr */
	size_t nr_sites, room_sites;
};

/* What a thread has begun; NULL when out of memory. */
struct syscall_begun *syscallcount_begun(struct syscallcount *s, pid_t tid);

void syscallcount_add(struct syscallcount *s, int nr, const char *where,
		      uint64_t ns, bool failed);

/* A table, by time. */
void syscallcount_print(struct syscallcount *s, FILE *out);

void syscallcount_deinit(struct syscallcount *s);

#endif /* OW_SYSCALLCOUNT_H */
