// SPDX-License-Identifier: BSD-2-Clause
#include <stdint.h>

#include "stacks.h"

void bench_visit(bench_fn *const *functions, size_t n, bench_fn *leaf,
		 void *arg)
{
	struct bench_path path = { .arg = arg };
	uint32_t random = (uint32_t)n * 2654435761U + 12345;
	unsigned int i;

	for (i = 0; i < BENCH_DEPTH; i++) {
		random = random * 1103515245 + 12345;
		path.next[i] = functions[random >> 16 & (BENCH_FUNCTIONS - 1)];
	}
	path.next[BENCH_DEPTH] = leaf;
	path.next[0](&path, 1);
}
