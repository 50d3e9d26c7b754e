/* SPDX-License-Identifier: BSD-2-Clause */
/* System calls that have begun, by thread. */
#ifndef OW_SYSCALLBEGUN_H
#define OW_SYSCALLBEGUN_H

#include <outwind/record.h>

struct syscallsite;

struct syscall_begun {
	bool is_open;                    /* it hasn't ended yet */
	struct ow_recorded_syscall call; /* but for its text: */
	uid_t uid;                       /* of the process; -1: not known */
	struct syscallsite *site;        /* or NULL; its holder sees to it */
	char *text;                      /* of its size, and a NUL; or NULL */
};

/* All zero is empty. */
struct syscallsbegun {
	struct syscall_begun *all; /* by tid */
	size_t nr, room;
};

/* What a thread has begun; NULL if it isn't known. */
struct syscall_begun *syscallbegun_find(struct syscallsbegun *s, pid_t tid);

/* A call begins; false when out of memory. */
bool syscallbegun_add(struct syscallsbegun *s,
		      const struct ow_recorded_syscall *call);

/* The call's text, which has come later; there is none when out of memory. */
void syscallbegun_set_text(struct syscall_begun *b,
			   const struct ow_recorded_syscall *from);

/*
 * What ends with this: the thread's own call; or, as who executes a program
 * becomes the first thread of its process, one that another thread began.  NULL
 * if its begin wasn't seen.
 */
struct syscall_begun *syscallbegun_end(struct syscallsbegun *s,
				       const struct ow_recorded_syscall *end);

/* The thread is gone. */
void syscallbegun_remove(struct syscallsbegun *s, struct syscall_begun *b);

/* Is it a call that executes a program, of any ABI? */
bool syscallbegun_is_exec(int nr);

void syscallsbegun_deinit(struct syscallsbegun *s);

#endif /* OW_SYSCALLBEGUN_H */
