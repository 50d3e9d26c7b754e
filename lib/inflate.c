// SPDX-License-Identifier: BSD-2-Clause
#include "inflate.h"

#include <stdlib.h>
#include <string.h>
#include <zlib.h>
#include <zstd.h>

#include "cursor.h"

enum {
	ELFCOMPRESS_ZLIB = 1,
	ELFCOMPRESS_ZSTD = 2,
};

#define GNU_MAGIC     "ZLIB"
#define LARGEST       ((uint64_t)1 << 32)
#define LARGEST_RATIO 1100 /* deflate's limit is 1032 */

static uint64_t big_endian(const uint8_t *bytes)
{
	uint64_t value = 0;
	int i;

	for (i = 0; i < 8; i++)
		value = value << 8 | bytes[i];
	return value;
}

/* Type and decompressed size, from either kind of header. */
static uint64_t read_header(struct ow_cursor *c, bool is_64, bool is_gnu,
			    uint32_t *type_ret)
{
	size_t w = is_64 ? 8 : 4;
	const uint8_t *gnu;
	uint64_t full;

	if (is_gnu) {
		gnu = ow_cursor_skip(c, 12);
		*type_ret = ELFCOMPRESS_ZLIB;
		return gnu && memcmp(gnu, GNU_MAGIC, 4) == 0 ?
			       big_endian(gnu + 4) :
			       0;
	}
	*type_ret = ow_cursor_uint(c, 4); /* ch_type */
	ow_cursor_skip(c, w - 4);         /* ch_reserved, in class 64 */
	full = ow_cursor_uint(c, w);
	ow_cursor_skip(c, w); /* ch_addralign */
	return c->bad ? 0 : full;
}

static bool decompress(uint32_t type, const struct ow_cursor *c, uint8_t *to,
		       size_t size)
{
	uLongf got = size;

	if (type == ELFCOMPRESS_ZLIB)
		return uncompress(to, &got, c->pos, c->end - c->pos) == Z_OK &&
		       got == size;
	if (type == ELFCOMPRESS_ZSTD)
		return ZSTD_decompress(to, size, c->pos, c->end - c->pos) ==
		       size;
	return false;
}

uint8_t *ow_inflate(const uint8_t *bytes, size_t size, bool is_64, bool is_gnu,
		    size_t *size_ret)
{
	struct ow_cursor c = { bytes, bytes + size, false };
	uint32_t type;
	uint64_t full = read_header(&c, is_64, is_gnu, &type);
	uint8_t *to;

	if (full == 0 || full > LARGEST || full / LARGEST_RATIO > size)
		return NULL;
	to = malloc(full);
	if (!to)
		return NULL;
	if (!decompress(type, &c, to, full)) {
		free(to);
		return NULL;
	}
	*size_ret = full;
	return to;
}
