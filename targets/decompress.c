// SPDX-License-Identifier: BSD-2-Clause
#include "decompress.h"

#include <lz4frame.h>
#include <lzma.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>
#include <zstd.h>

#include "budget.h"
#include "env.h"

#define BUF_SIZE ((size_t)1 << 20)
#define PIECE    ((size_t)128 << 10) /* of the input, that is copied at once */

/* Input and output of one step, and what the library keeps between them. */
struct stream {
	const uint8_t *in;
	size_t in_size;
	uint8_t *piece; /* PIECE bytes; the next of the input are in it from here to there: */
	size_t piece_at, piece_end;
	uint8_t *out; /* BUF_SIZE bytes */
	size_t out_size;
	void *state;
};

enum step {
	STEP_MORE,   /* there may be more in it */
	STEP_END,    /* of one stream; another may follow */
	STEP_BAD,    /* damaged */
	STEP_MEMORY, /* not enough */
};

struct ow_codec {
	const char *name;
	uint8_t magic[6], magic_size;
	bool (*begin)(struct stream *s);
	/* Use up input, fill out and set out_size. */
	enum step (*step)(struct stream *s);
	void (*end)(struct stream *s);
};

static bool begin_zstd(struct stream *s)
{
	s->state = ZSTD_createDStream();
	return s->state != NULL;
}

/* By copies, as libzstd looks at some bytes again, and the file may be written to. */
static enum step step_zstd(struct stream *s)
{
	ZSTD_outBuffer out = { s->out, BUF_SIZE, 0 };
	ZSTD_inBuffer in = { s->piece, 0, 0 };
	size_t left;

	if (s->piece_at == s->piece_end) {
		s->piece_at = 0;
		s->piece_end = s->in_size < PIECE ? s->in_size : PIECE;
		memcpy(s->piece, s->in, s->piece_end);
	}
	in.pos = s->piece_at;
	in.size = s->piece_end;
	left = ZSTD_decompressStream(s->state, &out, &in);
	s->in += in.pos - s->piece_at;
	s->in_size -= in.pos - s->piece_at;
	s->piece_at = in.pos;
	s->out_size = out.pos;
	if (ZSTD_isError(left))
		return STEP_BAD;
	return left == 0 ? STEP_END : STEP_MORE;
}

static void end_zstd(struct stream *s)
{
	ZSTD_freeDStream(s->state);
}

static bool begin_lz4(struct stream *s)
{
	LZ4F_dctx *ctx = NULL;

	if (LZ4F_isError(LZ4F_createDecompressionContext(&ctx, LZ4F_VERSION)))
		return false;
	s->state = ctx;
	return true;
}

static enum step step_lz4(struct stream *s)
{
	size_t in = s->in_size, out = BUF_SIZE;
	size_t left = LZ4F_decompress(s->state, s->out, &out, s->in, &in, NULL);

	if (LZ4F_isError(left))
		return STEP_BAD;
	s->in += in;
	s->in_size -= in;
	s->out_size = out;
	return left == 0 ? STEP_END : STEP_MORE;
}

static void end_lz4(struct stream *s)
{
	LZ4F_freeDecompressionContext(s->state);
}

static bool begin_xz(struct stream *s)
{
	lzma_stream *xz = calloc(1, sizeof(*xz));

	s->state = xz;
	return xz && lzma_stream_decoder(xz, ow_budget_share(0) + 1,
					 LZMA_CONCATENATED) == LZMA_OK;
}

static enum step step_xz(struct stream *s)
{
	lzma_stream *xz = s->state;
	lzma_ret ret;

	xz->next_in = s->in;
	xz->avail_in = s->in_size;
	xz->next_out = s->out;
	xz->avail_out = BUF_SIZE;
	/* All of the input is here. */
	ret = lzma_code(xz, LZMA_FINISH);
	s->in = xz->next_in;
	s->in_size = xz->avail_in;
	s->out_size = BUF_SIZE - xz->avail_out;
	switch (ret) {
	case LZMA_STREAM_END: return STEP_END;
	case LZMA_OK:
	case LZMA_BUF_ERROR: return STEP_MORE;
	case LZMA_MEM_ERROR:
	case LZMA_MEMLIMIT_ERROR: return STEP_MEMORY;
	default: return STEP_BAD;
	}
}

static void end_xz(struct stream *s)
{
	if (s->state)
		lzma_end(s->state);
	free(s->state);
}

static bool begin_gzip(struct stream *s)
{
	z_stream *z = calloc(1, sizeof(*z));

	s->state = z;
	return z && inflateInit2(z, MAX_WBITS + 16) == Z_OK;
}

static enum step step_gzip(struct stream *s)
{
	z_stream *z = s->state;
	size_t given = s->in_size < BUF_SIZE ? s->in_size : BUF_SIZE;
	int ret;

	z->next_in = (Bytef *)s->in;
	z->avail_in = (uInt)given;
	z->next_out = s->out;
	z->avail_out = (uInt)BUF_SIZE;
	ret = inflate(z, Z_NO_FLUSH);
	s->in += given - z->avail_in;
	s->in_size -= given - z->avail_in;
	s->out_size = BUF_SIZE - z->avail_out;
	if (ret == Z_STREAM_END)
		return inflateReset(z) == Z_OK ? STEP_END : STEP_BAD;
	return ret == Z_OK || ret == Z_BUF_ERROR ? STEP_MORE :
	       ret == Z_MEM_ERROR                ? STEP_MEMORY :
						   STEP_BAD;
}

static void end_gzip(struct stream *s)
{
	if (s->state)
		inflateEnd(s->state);
	free(s->state);
}

static const struct ow_codec codecs[] = {
	{ "zstd",
	  { 0x28, 0xb5, 0x2f, 0xfd },
	  4,
	  begin_zstd,
	  step_zstd,
	  end_zstd },
	{ "lz4", { 0x04, 0x22, 0x4d, 0x18 }, 4, begin_lz4, step_lz4, end_lz4 },
	{ "xz", { 0xfd, '7', 'z', 'X', 'Z', 0 }, 6, begin_xz, step_xz, end_xz },
	{ "gzip", { 0x1f, 0x8b, 8 }, 3, begin_gzip, step_gzip, end_gzip },
};

const struct ow_codec *ow_codec_of(const uint8_t *bytes, size_t size)
{
	size_t i;

	for (i = 0; i < OW_ARRAY_SIZE(codecs); i++)
		if (size >= codecs[i].magic_size &&
		    memcmp(bytes, codecs[i].magic, codecs[i].magic_size) == 0)
			return &codecs[i];
	return NULL;
}

const char *ow_codec_name(const struct ow_codec *codec)
{
	return codec->name;
}

static enum ow_decompressed run(const struct ow_codec *codec, struct stream *s,
				struct ow_sink *sink)
{
	const size_t total = s->in_size;
	enum step step = STEP_MORE;
	size_t before;

	while (step == STEP_MORE || s->in_size > 0) {
		before = s->in_size;
		s->out_size = 0;
		step = codec->step(s);
		if (s->out_size > 0 && !sink->put(sink, s->out, s->out_size))
			return OW_DECOMPRESSED_STOPPED;
		if (step == STEP_BAD)
			return OW_DECOMPRESSED_BAD;
		if (step == STEP_MEMORY)
			return OW_DECOMPRESSED_MEMORY;
		/* Neither read nor written: it waits for what isn't there. */
		if (step == STEP_MORE && s->in_size == before &&
		    s->out_size == 0)
			return OW_DECOMPRESSED_CUT;
		if (sink->progress)
			sink->progress(sink, total - s->in_size, total);
	}
	return OW_DECOMPRESSED_ALL;
}

enum ow_decompressed ow_decompress(const struct ow_codec *codec,
				   const uint8_t *bytes, size_t size,
				   struct ow_sink *sink)
{
	struct stream s = { .in = bytes, .in_size = size };
	enum ow_decompressed ret = OW_DECOMPRESSED_MEMORY;

	s.piece = malloc(PIECE);
	s.out = malloc(BUF_SIZE);
	if (s.piece && s.out && codec->begin(&s))
		ret = run(codec, &s, sink);
	codec->end(&s);
	free(s.piece);
	free(s.out);
	return ret;
}
