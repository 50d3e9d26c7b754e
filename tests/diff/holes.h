/* SPDX-License-Identifier: BSD-2-Clause */
/* The addresses between an object's FDEs, which none of them covers. */
#ifndef HOLES_H
#define HOLES_H

#include <stddef.h>
#include <stdint.h>

struct hole_span {
	uint64_t start, end; /* vaddrs */
};

/* What FDEs cover; all zero at first. */
struct holes {
	struct hole_span *spans;
	size_t nr, room;
};

/* An FDE covers these. */
void holes_cover(struct holes *h, uint64_t start, uint64_t end);

/*
 * Call visit() for each vaddr between FDEs that none covers, and for the one before
 * the first FDE and the one after the last.  Of more than HOLES_LONG of them in a
 * row, only as many at either end are visited.
 */
#define HOLES_LONG 65536
void holes_visit(struct holes *h, void (*visit)(void *arg, uint64_t vaddr),
		 void *arg);

/* Forget all. */
void holes_clear(struct holes *h);

#endif /* HOLES_H */
