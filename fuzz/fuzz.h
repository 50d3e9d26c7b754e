/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What the fuzzers share.  A fuzzer asserts what the headers promise: that it
 * doesn't crash is the least of it.
 */
#ifndef OW_FUZZ_H
#define OW_FUZZ_H

#include <stdio.h>
#include <stdlib.h>

#include "arch.h"
#include "err.h"
#include "fakemem.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define ASSERT(cond)                                                       \
	do {                                                               \
		if (!(cond)) {                                             \
			fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, \
				#cond);                                    \
			abort();                                           \
		}                                                          \
	} while (0)

/* The input's first byte chooses the architecture; its high bits are free. */
static inline const struct ow_arch *fuzz_arch(uint8_t byte)
{
	static const struct ow_arch *const arches[] = {
		&ow_arch_x86_64,
		&ow_arch_i386,
		&ow_arch_aarch64,
	};

	return arches[(byte & 0x0f) % OW_ARRAY_SIZE(arches)];
}

/* Take n bytes off the front of the input as a number; 0 past its end. */
static inline uint64_t fuzz_take(const uint8_t **data, size_t *size, size_t n)
{
	uint64_t value = 0;
	size_t i;

	for (i = 0; i<n && * size> 0; i++) {
		value |= (uint64_t) * *data << 8 * i;
		(*data)++;
		(*size)--;
	}
	return value;
}

/* Is it 0, or a failure that the core may report? */
static inline bool fuzz_is_result(int err)
{
	return err <= 0 && err > -OW_ERR_HOSTED;
}

#endif /* OW_FUZZ_H */
