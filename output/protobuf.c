// SPDX-License-Identifier: BSD-2-Clause
#include "protobuf.h"

#include <stdlib.h>
#include <string.h>

static void put(struct protobuf *b, const void *bytes, size_t size)
{
	size_t room = b->room ? b->room : 4096;
	uint8_t *more;

	while (room - b->size < size)
		room *= 2;
	if (room != b->room) {
		more = realloc(b->bytes, room);
		if (!more) {
			b->failed = true;
			return;
		}
		b->bytes = more;
		b->room = room;
	}
	if (size)
		memcpy(b->bytes + b->size, bytes, size);
	b->size += size;
}

void protobuf_put_varint(struct protobuf *b, uint64_t v)
{
	uint8_t bytes[10];
	size_t n = 0;

	do {
		bytes[n++] = (uint8_t)((v & 0x7f) | (v > 0x7f ? 0x80 : 0));
		v >>= 7;
	} while (v);
	put(b, bytes, n);
}

void protobuf_put_number(struct protobuf *b, unsigned int field, uint64_t v)
{
	if (v == 0)
		return;
	protobuf_put_varint(b, field << 3);
	protobuf_put_varint(b, v);
}

void protobuf_put_bytes(struct protobuf *b, unsigned int field,
			const void *bytes, size_t size)
{
	protobuf_put_varint(b, field << 3 | 2);
	protobuf_put_varint(b, size);
	put(b, bytes, size);
}

void protobuf_put_message(struct protobuf *b, unsigned int field,
			  struct protobuf *message)
{
	protobuf_put_bytes(b, field, message->bytes, message->size);
	b->failed |= message->failed;
	message->size = 0;
}

void protobuf_put_fields(struct protobuf *b, struct protobuf *message)
{
	put(b, message->bytes, message->size);
	b->failed |= message->failed;
	message->size = 0;
}

void protobuf_deinit(struct protobuf *b)
{
	free(b->bytes);
	*b = (struct protobuf){ 0 };
}
