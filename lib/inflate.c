// SPDX-License-Identifier: BSD-2-Clause
#include "inflate.h"

#include <stdlib.h>
#include <string.h>
#include <zlib.h>
#include <zstd.h>

#include "bulk.h"
#include "cursor.h"
#include "error.h"
#include "owner.h"

enum {
	ELFCOMPRESS_ZLIB = 1,
	ELFCOMPRESS_ZSTD = 2,
};

#define GNU_MAGIC     "ZLIB"
#define LARGEST       ((uint64_t)1 << 32)
#define LARGEST_RATIO 1100 /* deflate's limit is 1032 */
#define FIRST_ROOM    ((size_t)1 << 20)
#define LARGEST_PIECE ((uInt)1 << 30) /* zlib counts by 32 bits */

/* What can't be made smaller may become larger by such a part, and so many bytes. */
#define MOST_ADDED 64
#define MOST_HEAD  4096

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

/* A section's contents on their way out. */
struct out {
	struct ow_unpacked got;
	size_t full; /* as declared */
	struct ow_owner *own;
	struct ow_bulk_packed in;
};

/* Room for more; 0, -OW_CODE_MEMORY or -OW_CODE_TIMEOUT. */
static int grow(struct out *o)
{
	size_t room = o->got.room ? 2 * o->got.room : FIRST_ROOM;
	uint8_t *more;

	if (room > o->full)
		room = o->full;
	if (!ow_owner_take(o->own, room - o->got.room))
		return -OW_CODE_MEMORY;
	if (!ow_bulk_take(OW_BULK_UNPACKED, o->own, room - o->got.room)) {
		ow_owner_give(o->own, room - o->got.room);
		return -OW_CODE_TIMEOUT;
	}
	more = realloc(o->got.bytes, room);
	if (!more) {
		ow_owner_give(o->own, room - o->got.room);
		return -OW_CODE_MEMORY;
	}
	o->got.bytes = more;
	o->got.room = room;
	return 0;
}

static int inflate_zlib(z_stream *z, const struct ow_cursor *c, struct out *o)
{
	int ret = Z_OK, failed;
	size_t left;

	z->next_in = (Bytef *)c->pos;
	while (ret == Z_OK) {
		if (z->avail_in == 0) {
			if (!ow_bulk_next_piece(&o->in, o->own, o->got.size))
				return -OW_CODE_TIMEOUT;
			z->avail_in = (uInt)o->in.piece;
		}
		if (o->got.size == o->got.room && o->got.room < o->full) {
			failed = grow(o);
			if (failed)
				return failed;
		}
		left = o->got.room - o->got.size;
		z->next_out = o->got.bytes + o->got.size;
		z->avail_out = left < LARGEST_PIECE ? (uInt)left :
						      LARGEST_PIECE;
		/* Without input or output left this is Z_BUF_ERROR. */
		ret = inflate(z, Z_NO_FLUSH);
		o->got.size = (size_t)(z->next_out - o->got.bytes);
	}
	return ret == Z_STREAM_END ? 0 : -OW_CODE_FORMAT;
}

static int unpack_zlib(const struct ow_cursor *c, struct out *o)
{
	z_stream z = { 0 };
	int failed;

	if (inflateInit(&z) != Z_OK)
		return -OW_CODE_MEMORY;
	failed = inflate_zlib(&z, c, o);
	inflateEnd(&z);
	return failed;
}

/* By a copy of each piece, as libzstd looks at some bytes of a file again. */
static int inflate_zstd(ZSTD_DStream *z, struct ow_cursor *c, uint8_t *piece,
			struct out *o)
{
	ZSTD_inBuffer in = { piece, 0, 0 };
	size_t left = 1, before, read;
	int failed;

	while (left > 0) {
		if (in.pos == in.size) {
			if (!ow_bulk_next_piece(&o->in, o->own, o->got.size))
				return -OW_CODE_TIMEOUT;
			in = (ZSTD_inBuffer){ piece, o->in.piece, 0 };
			memcpy(piece, c->pos, in.size);
			c->pos += in.size;
		}
		if (o->got.size == o->got.room && o->got.room < o->full) {
			failed = grow(o);
			if (failed)
				return failed;
		}
		ZSTD_outBuffer out = { o->got.bytes, o->got.room, o->got.size };

		before = o->got.size;
		read = in.pos;
		left = ZSTD_decompressStream(z, &out, &in);
		o->got.size = out.pos;
		if (ZSTD_isError(left) ||
		    (left > 0 && out.pos == before && in.pos == read))
			return -OW_CODE_FORMAT;
	}
	return 0;
}

static int unpack_zstd(struct ow_cursor *c, struct out *o)
{
	ZSTD_DStream *z = ZSTD_createDStream();
	uint8_t *piece = malloc(OW_BULK_PIECE);
	int failed = z && piece ? inflate_zstd(z, c, piece, o) :
				  -OW_CODE_MEMORY;

	ZSTD_freeDStream(z);
	free(piece);
	return failed;
}

int ow_inflate(const struct ow_packed *p, struct ow_owner *own,
	       struct ow_unpacked *ret)
{
	struct ow_cursor c = { p->bytes, p->bytes + p->size, false };
	int failed = -OW_CODE_FORMAT;
	uint32_t type;
	uint64_t full = read_header(&c, p->is_64, p->is_gnu, &type);
	struct out o = { .full = full, .own = own };

	if (full == 0 || full > LARGEST || full / LARGEST_RATIO > p->size ||
	    p->size > full + full / MOST_ADDED + MOST_HEAD)
		return failed;
	o.in.left = (size_t)(c.end - c.pos);
	if (type == ELFCOMPRESS_ZLIB)
		failed = unpack_zlib(&c, &o);
	else if (type == ELFCOMPRESS_ZSTD)
		failed = unpack_zstd(&c, &o);
	ow_bulk_has_time(own, &o.in.since);
	if (!failed && o.got.size != full)
		failed = -OW_CODE_FORMAT;
	if (failed)
		ow_inflate_free(&o.got, own);
	else
		*ret = o.got;
	return failed;
}

void ow_inflate_free(struct ow_unpacked *u, struct ow_owner *own)
{
	ow_owner_give(own, u->room);
	free(u->bytes);
	*u = (struct ow_unpacked){ NULL, 0, 0 };
}
