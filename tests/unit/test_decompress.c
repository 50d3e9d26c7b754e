// SPDX-License-Identifier: BSD-2-Clause
/* Compressed files: all of them again, or a prefix and the reason. */
#include "decompress.h"

#include <stdlib.h>
#include <string.h>

#include "monotonic.h"
#include "scratch.h"
#include "test.h"

#define FULL (3 << 20)

static const char *const names[] = { "zstd", "lz4", "xz", "gzip" };
static const char *const commands[] = { "zstd -qc full", "lz4 -qc full",
					"xz -0c full", "gzip -1c full" };

static uint8_t *full;

/* Compares what comes with what should. */
struct check {
	struct ow_sink sink; /* first */
	size_t got, most;
	bool differs;
	size_t done, total;
};

static bool put(struct ow_sink *sink, const void *bytes, size_t size)
{
	struct check *c = (struct check *)sink;

	if (size > 2 * FULL - c->got)
		c->differs = true;
	else
		for (size_t i = 0; i < size; i++, c->got++)
			if (((const uint8_t *)bytes)[i] != full[c->got % FULL])
				c->differs = true;
	return c->got <= c->most;
}

static void progress(struct ow_sink *sink, size_t done, size_t total)
{
	struct check *c = (struct check *)sink;

	if (done < c->done || done > total)
		c->differs = true;
	c->done = done;
	c->total = total;
}

static uint8_t *read_all(const char *name, size_t *size_ret)
{
	FILE *f = fopen(name, "re");
	uint8_t *bytes = malloc(2 * FULL);

	if (!f || !bytes)
		abort();
	*size_ret = fread(bytes, 1, 2 * FULL, f);
	fclose(f);
	return bytes;
}

/* Something that compresses, but not to nothing. */
static void make_full(void)
{
	uint32_t x = 1;
	FILE *f = fopen("full", "we");

	full = malloc(FULL);
	if (!full || !f)
		abort();
	for (size_t i = 0; i < FULL; i++) {
		x = x * 1664525 + 1013904223;
		full[i] = i / 65536 % 3 == 1 ? 0 : (uint8_t)(x >> 28);
	}
	if (fwrite(full, 1, FULL, f) != FULL || fclose(f))
		abort();
}

static enum ow_decompressed run(struct check *c, const uint8_t *bytes,
				size_t size, size_t most)
{
	const struct ow_codec *codec = ow_codec_of(bytes, size);

	*c = (struct check){ .sink = { put, progress }, .most = most };
	return codec ? ow_decompress(codec, bytes, size, &c->sink) :
		       OW_DECOMPRESSED_BAD;
}

static void check_codec(size_t i)
{
	struct check c;
	uint8_t *bytes, *copy;
	size_t size, cut;

	CHECK(scratch_run("%s >one && cat one one >two", commands[i]));
	bytes = read_all("one", &size);
	CHECK(strcmp(ow_codec_name(ow_codec_of(bytes, size)), names[i]) == 0);
	CHECK(run(&c, bytes, size, FULL) == OW_DECOMPRESSED_ALL);
	CHECK(c.got == FULL && !c.differs);
	CHECK(c.done == size && c.total == size);
	CHECK(run(&c, bytes, size, 1000) == OW_DECOMPRESSED_STOPPED);
	for (cut = size - 1; cut > 100; cut /= 2) {
		/* At the end of the allocation, for the sanitizer. */
		copy = malloc(cut);
		memcpy(copy, bytes, cut);
		CHECK(run(&c, copy, cut, FULL) == OW_DECOMPRESSED_CUT);
		CHECK(c.got <= FULL && !c.differs);
		free(copy);
	}
	memset(bytes + size / 2, 0xff, 64);
	CHECK(run(&c, bytes, size, 2 * FULL) != OW_DECOMPRESSED_ALL);
	free(bytes);
	bytes = read_all("two", &size);
	CHECK(run(&c, bytes, size, 2 * FULL) == OW_DECOMPRESSED_ALL);
	CHECK(c.got == 2 * FULL && !c.differs);
	free(bytes);
}

static void test_codecs(void)
{
	for (size_t i = 0; i < OW_ARRAY_SIZE(names); i++)
		check_codec(i);
}

#define EMPTY_FRAMES 200000 /* RFC 8878, 3.1.1: a last block of no bytes */

/* Frames that come to nothing cost no more than their bytes do. */
static void test_empty_frames(void)
{
	static const uint8_t empty[] = { 0x28, 0xb5, 0x2f, 0xfd, 0x20,
					 0,    1,    0,    0 };
	size_t size, before = EMPTY_FRAMES * sizeof(empty);
	uint8_t *frame, *bytes;
	uint64_t begun;
	struct check c;

	CHECK(scratch_run("%s >one", commands[0]));
	frame = read_all("one", &size);
	bytes = malloc(before + size);
	for (size_t i = 0; i < before; i += sizeof(empty))
		memcpy(bytes + i, empty, sizeof(empty));
	memcpy(bytes + before, frame, size);
	begun = ow_cpu_ns();
	CHECK(run(&c, bytes, before + size, FULL) == OW_DECOMPRESSED_ALL);
	CHECK(c.got == FULL && !c.differs);
	CHECK(ow_cpu_ns() - begun < 500000000);
	free(bytes);
	free(frame);
}

static void test_others(void)
{
	CHECK(!ow_codec_of((const uint8_t *)"\177ELF\2\1\1", 7));
	CHECK(!ow_codec_of((const uint8_t *)"\x28\xb5\x2f", 3));
	CHECK(!ow_codec_of((const uint8_t *)"", 0));
}

int main(void)
{
	static const struct test tests[] = {
		{ "zstd, lz4, xz, gzip", test_codecs },
		{ "frames of nothing", test_empty_frames },
		{ "what is none of them", test_others },
	};
	int failed;

	scratch_enter();
	make_full();
	failed = test_main(tests, (int)OW_ARRAY_SIZE(tests));
	free(full);
	return failed;
}
