// SPDX-License-Identifier: BSD-2-Clause
#include "minidebug.h"

#include <lzma.h>
#include <stdlib.h>

#include "elfsym.h"
#include "error.h"
#include "object.h"

/* What hostile bytes may make us allocate: to decode, and as the result. */
#define DECODER_MAX ((uint64_t)128 << 20)
#define IMAGE_MAX   ((size_t)256 << 20)

/* Room for more output; false at the limit. */
static bool grow(lzma_stream *s, uint8_t **buf, size_t *size)
{
	size_t used = *size - s->avail_out;
	size_t more = *size ? *size * 2 : 1 << 20;
	uint8_t *bigger;

	if (more > IMAGE_MAX)
		return false;
	bigger = realloc(*buf, more);
	if (!bigger)
		return false;
	*buf = bigger;
	*size = more;
	s->next_out = bigger + used;
	s->avail_out = more - used;
	return true;
}

/* All output of the stream, allocated, or NULL. */
static uint8_t *decode(lzma_stream *s, size_t *size_ret)
{
	lzma_ret r = LZMA_OK;
	uint8_t *buf = NULL;
	size_t size = 0;

	while (r == LZMA_OK) {
		if (s->avail_out == 0 && !grow(s, &buf, &size))
			break;
		r = lzma_code(s, LZMA_FINISH);
	}
	if (r != LZMA_STREAM_END) {
		free(buf);
		return NULL;
	}
	*size_ret = size - s->avail_out;
	return buf;
}

struct ow_object *ow_minidebug_open(const struct ow_object *obj)
{
	lzma_stream s = LZMA_STREAM_INIT;
	struct ow_elf_section sec;
	uint8_t *image;
	size_t size;

	if (!ow_object_section(obj, ".gnu_debugdata", &sec))
		return NULL;
	s.next_in = ow_elfsym_section(&obj->elf, &sec);
	s.avail_in = sec.size;
	if (!s.next_in || lzma_stream_decoder(&s, DECODER_MAX, 0) != LZMA_OK)
		return NULL;
	image = decode(&s, &size);
	lzma_end(&s);
	if (!image)
		return NULL;
	return ow_object_from_image(image, size, obj->path, NULL);
}
