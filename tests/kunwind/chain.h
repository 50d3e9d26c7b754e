/* SPDX-License-Identifier: BSD-2-Clause */
/* A recursion that does something innermost, without frame pointers. */
#ifndef KT_CHAIN_H
#define KT_CHAIN_H

#include <stdint.h>

#define KT_NOINLINE __attribute__((noinline, noclone))

static KT_NOINLINE void kt_chain(unsigned int depth, void (*leaf)(void))
{
	volatile char fill[40];

	fill[0] = (char)depth;
	if (depth == 0)
		leaf();
	else
		kt_chain(depth - 1, leaf);
	fill[1] = fill[0];
}

/* How many of the pcs are return addresses within the recursion. */
static inline unsigned int kt_inside(const uint64_t *pcs, unsigned int nr)
{
	uint64_t low = (uintptr_t)kt_chain;
	unsigned int i, n = 0;

	for (i = 0; i < nr; i++)
		n += pcs[i] > low && pcs[i] < low + 160;
	return n;
}

#endif /* KT_CHAIN_H */
