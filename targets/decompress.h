/* SPDX-License-Identifier: BSD-2-Clause */
/* Files that a compressor made: zstd, lz4, xz and gzip, told by their magic. */
#ifndef OW_DECOMPRESS_H
#define OW_DECOMPRESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ow_codec;

/* Whom the bytes go to. */
struct ow_sink {
	/* Take bytes; false: enough, stop. */
	bool (*put)(struct ow_sink *sink, const void *bytes, size_t size);
	/* How much of the input has been read; may be NULL. */
	void (*progress)(struct ow_sink *sink, size_t done, size_t total);
};

enum ow_decompressed {
	OW_DECOMPRESSED_ALL,
	OW_DECOMPRESSED_CUT,     /* the input ends too early */
	OW_DECOMPRESSED_BAD,     /* it is damaged from somewhere on */
	OW_DECOMPRESSED_STOPPED, /* by the sink */
	OW_DECOMPRESSED_MEMORY,  /* there is not enough */
};

/* What compressed a file that begins with these bytes; NULL: nothing. */
const struct ow_codec *ow_codec_of(const uint8_t *bytes, size_t size);

/* "zstd" */
const char *ow_codec_name(const struct ow_codec *codec);

/*
 * Decompress size bytes, of one stream or several, to the sink.  What comes
 * before damage has been put, whatever is returned.  Memory is bounded by the
 * codec's window: 1 GiB at most.
 */
enum ow_decompressed ow_decompress(const struct ow_codec *codec,
				   const uint8_t *bytes, size_t size,
				   struct ow_sink *sink);

#endif /* OW_DECOMPRESS_H */
