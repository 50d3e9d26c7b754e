/* SPDX-License-Identifier: BSD-2-Clause */
/* The names of JITs' code that a capture's frames need, to keep with it. */
#ifndef OW_JITNAMES_H
#define OW_JITNAMES_H

#include "bytebuf.h"
#include "capture.h"
#include "perfmap.h"

struct ow_jitnames {
	char *path;             /* where they came from, or NULL */
	struct ow_bytebuf text; /* lines as in a map for perf, each once */
	size_t own;             /* bytes taken from the budget for that */
};

/*
 * The process' map for perf, or what the capture has of one; NULL: neither.
 * Only of a process: the pid in a core may be another's by now, and only a
 * process was frozen.
 */
struct ow_perfmap *ow_jitnames_open(const struct ow_capture *c);

/*
 * Look up every frame that is in no object, in what ow_jitnames_open() gives.  Names
 * that would take more memory than there may be are left out (ow_budget_refuse()).
 * Return false, and nothing in ret, if there are none.
 */
bool ow_jitnames_collect(struct ow_jitnames *ret, struct ow_capture *c);

void ow_jitnames_deinit(struct ow_jitnames *j);

#endif /* OW_JITNAMES_H */
