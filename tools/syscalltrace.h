/* SPDX-License-Identifier: BSD-2-Clause */
/* System calls of processes or of a command, told as they end, or counted. */
#ifndef OW_SYSCALLTRACE_H
#define OW_SYSCALLTRACE_H

#include <outwind/record.h>

#include "alive.h"
#include "syscallset.h"

struct syscall_request {
	struct ow_recorder_options options;
	pid_t *pids;
	struct alive alive; /* those */
	char **command;     /* or NULL */
	struct syscallset set;
	const char *path;     /* where to, or NULL */
	uint64_t duration_ns; /* 0: until they end */
	bool stacks, summary;
};

/* The exit status. */
int syscalltrace_run(struct syscall_request *q);

#endif /* OW_SYSCALLTRACE_H */
