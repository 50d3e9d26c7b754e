/* SPDX-License-Identifier: BSD-2-Clause */
/* Finding what covers an address, among ranges that may overlap. */
#ifndef OW_SPANS_H
#define OW_SPANS_H

#include <stddef.h>
#include <stdint.h>

/* What is to be found begins with one. */
struct ow_span {
	uint64_t start, end;
	uint64_t reach; /* largest end of this and all before it */
};

/* An array of such, borrowed. */
struct ow_spans {
	void *list;
	size_t nr;
	size_t size; /* bytes of an element */
	size_t most; /* that are looked at, of those that begin before; 0: all */
};

/* Fill in reach; the array is in the order of start. */
void ow_spans_link(const struct ow_spans *s);

/*
 * The last element that covers addr, of those before *at, which is set to its
 * index; NULL if there is none.  Begin with *at = nr and go on for the others.
 */
void *ow_spans_before(const struct ow_spans *s, uint64_t addr, size_t *at);

#endif /* OW_SPANS_H */
