/* SPDX-License-Identifier: BSD-2-Clause */
/* Reading by libbabeltrace2, in this process. */
#ifndef OW_CTFTRACE_H
#define OW_CTFTRACE_H

#include "ctfreader.h"

/* What is called while it reads, with the reader's arg. */
struct ctf_watch {
	void (*begin)(void *arg, const char *name); /* a step with that trace */
	/* One is done; idle: a live session has nothing at the moment. */
	void (*done)(void *arg, bool idle);
};

/* As ctf_read(). */
int ctf_trace_read(const char *path, struct ctf_reader *r,
		   const struct ctf_watch *watch, char *why, size_t size);

#endif /* OW_CTFTRACE_H */
