/* SPDX-License-Identifier: BSD-2-Clause */
/* Stacks of a trace's events: printed, or counted into a profile. */
#ifndef OW_TRACEREPORT_H
#define OW_TRACEREPORT_H

#include <stdio.h>

#include "profile.h"

enum trace_grouping {
	TRACE_BY_EVENT, /* what is outermost in a profile's stacks */
	TRACE_BY_PROCESS,
	TRACE_BY_NOTHING,
};

struct trace_request {
	const char *path;
	const char *events;  /* a pattern of the shell's, or NULL: all */
	const char *sysroot; /* where objects are below, or NULL */
	enum trace_grouping by;
	bool times; /* from a system call's entry, or a switch, to its end */
	FILE *out;  /* print them there */
	struct profile *profile; /* or count them, if it isn't NULL */
};

/* Exit status; what was wrong has been said. */
int trace_report(const struct trace_request *r);

#endif /* OW_TRACEREPORT_H */
