// SPDX-License-Identifier: BSD-2-Clause
#include "minidebug.h"

#include <lzma.h>
#include <stdlib.h>

#include "bulk.h"
#include "elfsym.h"
#include "error.h"
#include "object.h"
#include "owner.h"

#define DECODER_MAX ((uint64_t)128 << 20)
#define PACKED_MAX  ((uint64_t)16 << 20) /* bytes, of some 30 ns each */
#define WEIGHT      16
#define FIRST_ROOM  ((size_t)1 << 20)

/* The image on its way out. */
struct out {
	uint8_t *buf;
	size_t room;
	struct ow_owner own;
	bool refused;
	bool is_late; /* the run has decompressed too much */
	struct ow_bulk_packed in;
};

/* Have twice the room for output, or all that may be taken; false if that is none. */
static bool grow(lzma_stream *s, struct out *o)
{
	size_t used = o->room - s->avail_out;
	size_t more = o->room ? o->room * 2 : FIRST_ROOM;
	size_t most = o->room + ow_owner_left(&o->own);
	uint8_t *bigger;

	if (more > most)
		more = most;
	o->refused = more == o->room || !ow_owner_take(&o->own, more - o->room);
	if (o->refused)
		return false;
	o->is_late = !ow_bulk_take(OW_BULK_UNPACKED, &o->own, more - o->room);
	if (o->is_late) {
		ow_owner_give(&o->own, more - o->room);
		return false;
	}
	bigger = realloc(o->buf, more);
	if (!bigger)
		return false;
	o->buf = bigger;
	o->room = more;
	s->next_out = bigger + used;
	s->avail_out = more - used;
	return true;
}

static bool next_piece(lzma_stream *s, struct out *o)
{
	o->is_late = !ow_bulk_next_piece(&o->in, &o->own, s->total_out);
	s->avail_in = o->in.piece;
	return !o->is_late;
}

/* All output of the stream; the number of its bytes, or 0. */
static size_t decode(lzma_stream *s, struct out *o)
{
	lzma_ret r = LZMA_OK;

	while (r == LZMA_OK) {
		if (s->avail_out == 0 && !grow(s, o))
			break;
		if (s->avail_in == 0 && !next_piece(s, o))
			break;
		r = lzma_code(s, o->in.left ? LZMA_RUN : LZMA_FINISH);
	}
	if (r == LZMA_MEMLIMIT_ERROR)
		o->refused = true;
	return r == LZMA_STREAM_END ? o->room - s->avail_out : 0;
}

/* Give back the room that the output doesn't fill. */
static void trim(struct out *o, size_t size)
{
	uint8_t *smaller = realloc(o->buf, size);

	if (!smaller)
		return;
	ow_owner_give(&o->own, o->room - size);
	o->buf = smaller;
	o->room = size;
}

/* What it decodes by is as much its share as what it makes. */
static uint64_t decoder_most(const struct ow_owner *own)
{
	uint64_t share = ow_owner_left(own);

	return share < DECODER_MAX ? share + 1 : DECODER_MAX;
}

struct ow_object *ow_minidebug_open(const struct ow_object *obj, bool *is_late)
{
	lzma_stream s = LZMA_STREAM_INIT;
	struct out o = { .own = ow_owner_beside(&obj->owner),
			 .in.weight = WEIGHT };
	struct ow_elf_section sec;
	size_t size;

	if (!ow_object_section(obj, ".gnu_debugdata", &sec))
		return NULL;
	if (sec.size > PACKED_MAX) {
		ow_object_refuse(obj, -OW_CODE_TIMEOUT, "its .gnu_debugdata");
		return NULL;
	}
	s.next_in = ow_elfsym_section(&obj->elf, &sec);
	o.in.left = sec.size;
	if (!s.next_in ||
	    lzma_stream_decoder(&s, decoder_most(&o.own), 0) != LZMA_OK)
		return NULL;
	size = decode(&s, &o);
	lzma_end(&s);
	ow_bulk_has_time(&o.own, &o.in.since);
	if (o.refused)
		ow_object_refuse(obj, -OW_CODE_MEMORY, "its .gnu_debugdata");
	*is_late |= o.is_late;
	if (o.is_late)
		ow_object_refuse(obj, -OW_CODE_TIMEOUT, "its .gnu_debugdata");
	if (size > 0) {
		trim(&o, size);
		return ow_object_from_image(o.buf, size, o.own, obj->path,
					    NULL);
	}
	free(o.buf);
	ow_owner_give(&o.own, o.own.bytes);
	return NULL;
}
