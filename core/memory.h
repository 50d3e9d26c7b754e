/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Reading the memory of a target. */
#ifndef OW_MEMORY_H
#define OW_MEMORY_H

#include "env.h"

/*
 * Whoever has the memory embeds this.  read() copies size bytes at addr to buf
 * and returns 0, or returns -OW_EFAULT if any of them is missing; it must not
 * return bytes that it made up.
 */
struct ow_memory {
	int (*read)(const struct ow_memory *mem, uint64_t addr, void *buf,
		    size_t size);
};

/*
 * A little-endian word of 1 to 8 bytes.  Return 0 and fill ret, or -OW_EFAULT,
 * and ret is anything; mem may be NULL or unable to read: it then has no byte.
 */
int ow_memory_word(const struct ow_memory *mem, uint64_t addr, size_t size,
		   uint64_t *ret);

#endif /* OW_MEMORY_H */
