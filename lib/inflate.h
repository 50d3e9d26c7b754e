/* SPDX-License-Identifier: BSD-2-Clause */
/* Compressed sections (gABI, SHF_COMPRESSED; and GNU's older .zdebug_*). */
#ifndef OW_INFLATE_H
#define OW_INFLATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Decompress the size bytes of a section, of a 64-bit object or not; is_gnu: it
 * is named .zdebug_*.  Return its contents, the caller's to free, and their
 * size; NULL if they are damaged, of an unknown kind, or out of all proportion.
 */
uint8_t *ow_inflate(const uint8_t *bytes, size_t size, bool is_64, bool is_gnu,
		    size_t *size_ret);

#endif /* OW_INFLATE_H */
