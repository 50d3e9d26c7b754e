// SPDX-License-Identifier: BSD-2-Clause
#include "bytebuf.h"

#include <stdlib.h>
#include <string.h>

static bool make_room(struct ow_bytebuf *b, size_t size)
{
	size_t room = b->room ? b->room : 256;
	void *bytes;

	if (b->failed || size > SIZE_MAX / 4 - b->size) {
		b->failed = true;
		return false;
	}
	if (b->room - b->size >= size)
		return true;
	while (room - b->size < size)
		room *= 2;
	bytes = realloc(b->bytes, room);
	if (!bytes) {
		b->failed = true;
		return false;
	}
	b->bytes = bytes;
	b->room = room;
	return true;
}

void ow_bytebuf_add(struct ow_bytebuf *b, const void *bytes, size_t size)
{
	if (size == 0 || !make_room(b, size))
		return;
	memcpy(b->bytes + b->size, bytes, size);
	b->size += size;
}

void ow_bytebuf_add_text(struct ow_bytebuf *b, const char *text)
{
	ow_bytebuf_add(b, text, strlen(text) + 1);
}

void ow_bytebuf_pad(struct ow_bytebuf *b, size_t align)
{
	static const uint8_t zeros[64];
	size_t over = b->size % align;

	if (over)
		ow_bytebuf_add(b, zeros, align - over);
}

void ow_bytebuf_deinit(struct ow_bytebuf *b)
{
	free(b->bytes);
	*b = (struct ow_bytebuf){ 0 };
}
