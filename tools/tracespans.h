/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a process of a trace has mapped where: spans of addresses, none of which
 * overlap.  Several processes share them, until one of them changes: then it has what
 * leads to the change for its own.  A look-up or change takes the logarithm of their
 * number, whatever the addresses are.
 */
#ifndef OW_TRACESPANS_H
#define OW_TRACESPANS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct trace_span {
	uint64_t start, end; /* addresses */
	uint64_t off;        /* of start, in the file */
	const char *file;    /* borrowed; NULL: not known */
	unsigned int object; /* 0: not known yet */
	uint32_t losses;     /* when it was told, as of struct tracemaps */
};

struct trace_spans; /* NULL: none */

/* The one that has addr, or NULL; it stays until the spans change. */
struct trace_span *trace_spans_find(struct trace_spans *all, uint64_t addr);

/*
 * Put one, in place of what was there.  The memory for it is taken from the budget for
 * the owner of *own, which has to stay as long as spans do.  Return false if that is
 * more than the owner may have: all are dropped then.
 */
bool trace_spans_put(struct trace_spans **all, const struct trace_span *s,
		     size_t *own);

/* The same spans for one user more. */
struct trace_spans *trace_spans_share(struct trace_spans *all);

/* A user less: they are freed when there is none. */
void trace_spans_drop(struct trace_spans *all);

#endif /* OW_TRACESPANS_H */
