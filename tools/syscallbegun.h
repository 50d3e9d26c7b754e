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
	/* While it is open and executes a program: in a list of such, by process. */
	struct syscall_begun *next, **link;
};

#define SYSCALLBEGUN_EXECS 1024 /* lists; a power of two */

/*
 * All zero is empty.  Threads may begin and end without end while many others wait: a
 * table has them by the hash of their tids.
 */
struct syscallsbegun {
	struct syscall_begun **all; /* NULL: free */
	size_t nr, room;            /* room: a power of two, or 0 */
	/* Open ones that execute a program, by the hash of their processes' pids. */
	struct syscall_begun *execs[SYSCALLBEGUN_EXECS];
};

/* What a thread has begun, valid until it is removed; NULL if it isn't known. */
struct syscall_begun *syscallbegun_find(struct syscallsbegun *s, pid_t tid);

/* A call begins; false when out of memory. */
bool syscallbegun_add(struct syscallsbegun *s,
		      const struct ow_recorded_syscall *call);

/* The call's text, which has come later; there is none when out of memory. */
void syscallbegun_set_text(struct syscall_begun *b,
			   const struct ow_recorded_syscall *from);

/* The call has ended: its text is not kept. */
void syscallbegun_close(struct syscallsbegun *s, struct syscall_begun *b);

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

/* All threads, s->nr of them, by tid; to be freed.  NULL when out of memory. */
struct syscall_begun **syscallsbegun_list(const struct syscallsbegun *s);

void syscallsbegun_deinit(struct syscallsbegun *s);

#endif /* OW_SYSCALLBEGUN_H */
