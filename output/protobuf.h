/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Messages as protobuf encodes them: fields by number, each a varint of
 * number << 3 | type, then a varint, or a size and bytes.
 * (https://protobuf.dev/programming-guides/encoding)
 */
#ifndef OW_PROTOBUF_H
#define OW_PROTOBUF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* All zero is empty. */
struct protobuf {
	uint8_t *bytes;
	size_t size, room;
	bool failed; /* out of memory, some time: something is missing */
};

/* A varint alone, as in a packed field. */
void protobuf_put_varint(struct protobuf *b, uint64_t v);

/* A field that is a number; 0 is what is there without it. */
void protobuf_put_number(struct protobuf *b, unsigned int field, uint64_t v);

void protobuf_put_bytes(struct protobuf *b, unsigned int field,
			const void *bytes, size_t size);

/* A message that was made aside; that is empty again. */
void protobuf_put_message(struct protobuf *b, unsigned int field,
			  struct protobuf *message);

/* All fields of a message that was made aside; that is empty again. */
void protobuf_put_fields(struct protobuf *b, struct protobuf *message);

void protobuf_deinit(struct protobuf *b);

#endif /* OW_PROTOBUF_H */
