/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* A memory of a target, of bytes at one place; for tests and fuzzers. */
#ifndef OW_TEST_FAKEMEM_H
#define OW_TEST_FAKEMEM_H

#include <string.h>

#include "err.h"
#include "memory.h"

/* A memory that holds size bytes at start, and nothing else. */
struct fake_memory {
	struct ow_memory mem; /* first: cast back in read() */
	uint64_t start;
	const uint8_t *bytes;
	uint64_t size;
};

static inline int fake_read(const struct ow_memory *mem, uint64_t addr,
			    void *buf, size_t size)
{
	const struct fake_memory *m = (const void *)mem;

	if (addr < m->start || addr - m->start > m->size ||
	    size > m->size - (addr - m->start))
		return -OW_EFAULT;
	memcpy(buf, m->bytes + (addr - m->start), size);
	return 0;
}

#endif /* OW_TEST_FAKEMEM_H */
