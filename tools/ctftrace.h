/* SPDX-License-Identifier: BSD-2-Clause */
/* Reading by libbabeltrace2, in this process. */
#ifndef OW_CTFTRACE_H
#define OW_CTFTRACE_H

#include "ctfreader.h"

/*
 * As ctf_read(); step() is called after each step, idle if a live session has
 * nothing at the moment, with the reader's arg.
 */
int ctf_trace_read(const char *path, struct ctf_reader *r,
		   void (*step)(void *arg, bool idle), char *why, size_t size);

#endif /* OW_CTFTRACE_H */
