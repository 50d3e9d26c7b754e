/* SPDX-License-Identifier: BSD-2-Clause */
/* A set of system calls, as strace(1) has them named. */
#ifndef OW_SYSCALLSET_H
#define OW_SYSCALLSET_H

#include <outwind/record.h>

#define SYSCALLSET_ABIS 3

/* All zero is all there are. */
struct syscallset {
	bool is_set;
	bool others; /* numbers that have no name, too */
	bool has[SYSCALLSET_ABIS][OW_SYSCALL_NUMBERS];
};

/*
 * Take what strace(1) takes behind -e: [trace=][!]WHAT,..., where WHAT is a name,
 * ?NAME that need not be one, /REGEX, %SET, all or none.  False, with a
 * complaint, if it is no such thing.
 */
bool syscallset_parse(struct syscallset *s, const char *text);

bool syscallset_has(const struct syscallset *s, int nr);

/*
 * Their numbers, and those of execve, as a recorder takes them; NULL where that
 * is all of them, or when out of memory.
 */
int *syscallset_list(const struct syscallset *s, size_t *nr);

#endif /* OW_SYSCALLSET_H */
