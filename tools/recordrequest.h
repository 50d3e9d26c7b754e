/* SPDX-License-Identifier: BSD-2-Clause */
/* The command line of "outwind record". */
#ifndef OW_RECORDREQUEST_H
#define OW_RECORDREQUEST_H

#include "stackview.h"

#include "xenrequest.h"

struct record_request {
	const char *domain;
	const char *path; /* of the output; NULL: stdout */
	const struct ow_view_writer *writer;
	unsigned int frequency;
	uint64_t duration_ns, most; /* 0: no limit */
	size_t max_frames;
	bool stats, help;
	unsigned int naming;  /* enum ow_symbolizer_flags */
	unsigned int showing; /* enum ow_view_flags */
	struct xen_request xen;
	struct ow_capture_options options;
};

/*
 * Fill the request, which borrows strings of the command line; complain and
 * return false if it makes no sense.  xen_request_free(&r->xen) in any case.
 */
bool record_request_parse(struct record_request *r, int argc, char **argv);

#endif /* OW_RECORDREQUEST_H */
