/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * By which way a thread that waits came into the kernel.
 *
 * /proc/PID/task/TID/stack ends with the kernel's code for that way, which root may
 * see.  Nothing that the program does to its own code changes it.
 */
#ifndef OW_CALLENTRY_H
#define OW_CALLENTRY_H

#include <stdbool.h>
#include <sys/types.h>

struct ow_arch;

struct ow_callentry {
	const struct ow_arch *arch; /* of the call, or NULL: not known */
	/*
	 * The kernel returns by its own segment, whose base is 0, whatever segment the
	 * call was made in.  int $0x80 returns to the one that it was made in.
	 */
	bool is_flat;
};

/* What the content of that file tells. */
struct ow_callentry ow_callentry_parse(const char *stack);

/* Read it, below a folder of threads (/proc/PID/task). */
struct ow_callentry ow_callentry_read(int tasks, pid_t tid);

#endif /* OW_CALLENTRY_H */
