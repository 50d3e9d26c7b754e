/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Fixtures written out byte by byte. */
#ifndef OW_TEST_BYTES_H
#define OW_TEST_BYTES_H

#include <stdlib.h>

#include "fakemem.h"

struct bytes {
	uint8_t at[32768] __attribute__((aligned(8)));
	size_t size;
};

/* A little-endian number of size bytes at the end. */
static inline void put(struct bytes *b, size_t size, uint64_t value)
{
	while (size-- > 0) {
		b->at[b->size++] = (uint8_t)value;
		value >>= 8;
	}
}

/* The same over what stands at off already. */
static inline void patch(struct bytes *b, size_t off, size_t size,
			 uint64_t value)
{
	while (size-- > 0) {
		b->at[off++] = (uint8_t)value;
		value >>= 8;
	}
}

static inline void put_block(struct bytes *b, const void *from, size_t size)
{
	memcpy(b->at + b->size, from, size);
	b->size += size;
}

/* Zeros up to an offset. */
static inline void put_to(struct bytes *b, size_t off)
{
	while (b->size < off)
		b->at[b->size++] = 0;
}

/*
 * A copy of size bytes that ends where its allocation does, so that the
 * sanitizer sees a read behind it.  To be freed.
 */
static inline uint8_t *exact(const void *from, size_t size)
{
	uint8_t *copy = malloc(size ? size : 1);

	memcpy(copy, from, size);
	return copy;
}

#endif /* OW_TEST_BYTES_H */
