/* SPDX-License-Identifier: BSD-2-Clause */
/* The command line of "outwind record". */
#ifndef OW_RECORDREQUEST_H
#define OW_RECORDREQUEST_H

#include <outwind/record.h>

#include "profile.h"
#include "stackview.h"

#include "alive.h"
#include "xenrequest.h"

struct record_request {
	/* What is sampled: one of a domain of Xen, processes, a command that is
	   to be started, or everyone. */
	const char *domain;
	pid_t *pids;
	size_t nr_pids;
	struct alive alive; /* those */
	char **command;
	bool everyone;
	const char *path; /* of the output; NULL: stdout */
	/* How it is written: each sample, or all of them together. */
	const struct ow_view_writer *writer;
	const struct profile_writer *profile_writer;
	char title[200];
	unsigned int frequency;
	uint64_t duration_ns, most; /* 0: no limit */
	size_t max_frames;
	size_t profile_memory; /* bytes; 0: as profiling.h has it */
	bool stats, help;
	unsigned int naming;  /* enum ow_symbolizer_flags */
	unsigned int showing; /* enum ow_view_flags */
	struct xen_request xen;
	struct ow_capture_options options;
	struct ow_recorder_options live; /* of processes */
};

/*
 * Fill the request, which borrows strings of the command line; complain and
 * return false if it makes no sense.  record_request_free() in any case.
 */
bool record_request_parse(struct record_request *r, int argc, char **argv);

void record_request_free(struct record_request *r);

#endif /* OW_RECORDREQUEST_H */
