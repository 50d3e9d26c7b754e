/* SPDX-License-Identifier: BSD-2-Clause */
/* Bytes that grow at their end. */
#ifndef OW_BYTEBUF_H
#define OW_BYTEBUF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* All zero is empty.  bytes come from malloc(). */
struct ow_bytebuf {
	uint8_t *bytes;
	size_t size, room;
	bool failed; /* out of memory, some time: bytes are missing */
};

/* Append; what was asked once can be asked at the end, by failed. */
void ow_bytebuf_add(struct ow_bytebuf *b, const void *bytes, size_t size);

/* Append text with its NUL. */
void ow_bytebuf_add_text(struct ow_bytebuf *b, const char *text);

/* Append zeros up to the next multiple of align. */
void ow_bytebuf_pad(struct ow_bytebuf *b, size_t align);

/* Free the bytes and make it empty. */
void ow_bytebuf_deinit(struct ow_bytebuf *b);

#endif /* OW_BYTEBUF_H */
