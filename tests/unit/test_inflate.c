// SPDX-License-Identifier: BSD-2-Clause
/* Compressed sections: the contents again, and nothing out of damaged ones. */
#include "inflate.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <zlib.h>
#include <zstd.h>

#include "error.h"
#include "monotonic.h"
#include "owner.h"
#include "test.h"

#define FULL 5000

static uint8_t full[FULL], section[FULL + 1024];

static void fill(void)
{
	size_t i;

	for (i = 0; i < FULL; i++)
		full[i] = (uint8_t)(i * i >> 5);
}

static void put(uint8_t *at, uint64_t value, size_t size)
{
	memcpy(at, &value, size);
}

/* Elf64_Chdr or Elf32_Chdr, and the contents behind it. */
static size_t make(uint32_t type, bool is_64, uint64_t size)
{
	size_t head = is_64 ? 24 : 12;
	uLongf z = sizeof(section) - head;

	memset(section, 0, head);
	put(section, type, 4);
	put(section + (is_64 ? 8 : 4), size, is_64 ? 8 : 4);
	if (type == 2)
		return head + ZSTD_compress(section + head, z, full, FULL, 3);
	CHECK(compress(section + head, &z, full, FULL) == Z_OK);
	return head + z;
}

static bool is_whole(size_t size, bool is_64, bool is_gnu)
{
	const struct ow_packed packed = { section, size, is_64, is_gnu };
	struct ow_unpacked got = { NULL, 0, 0 };
	struct ow_owner own = { 0 };
	bool good = ow_inflate(&packed, &own, &got) == 0 && got.size == FULL &&
		    got.room == FULL && own.bytes == FULL &&
		    memcmp(got.bytes, full, FULL) == 0;

	ow_inflate_free(&got, &own);
	return good && own.bytes == 0;
}

static bool is_refused(size_t size, bool is_64, bool is_gnu)
{
	const struct ow_packed packed = { section, size, is_64, is_gnu };
	struct ow_unpacked got = { NULL, 77, 0 };
	struct ow_owner own = { 0 };
	int failed = ow_inflate(&packed, &own, &got);

	return failed == -OW_CODE_FORMAT && !got.bytes && got.size == 77 &&
	       own.bytes == 0;
}

static void test_whole(void)
{
	CHECK(is_whole(make(1, true, FULL), true, false));
	CHECK(is_whole(make(1, false, FULL), false, false));
	CHECK(is_whole(make(2, true, FULL), true, false));
	CHECK(is_whole(make(2, false, FULL), false, false));
}

/* "ZLIB", the size in big-endian, the contents. */
static size_t make_gnu(void)
{
	uLongf z = sizeof(section) - 12;

	memcpy(section, "ZLIB\0\0\0\0\0\0\x13\x88", 12);
	CHECK(compress(section + 12, &z, full, FULL) == Z_OK);
	return 12 + z;
}

static void test_gnu(void)
{
	size_t size = make_gnu();

	CHECK(is_whole(size, true, true));
	section[0] = 'z';
	CHECK(is_refused(size, true, true));
}

static void test_wrong_sizes(void)
{
	CHECK(is_refused(make(1, true, FULL - 1), true, false));
	CHECK(is_refused(make(1, true, FULL + 1), true, false));
	CHECK(is_refused(make(2, true, FULL - 1), true, false));
	CHECK(is_refused(make(2, true, FULL + 1), true, false));
	CHECK(is_refused(make(1, true, 0), true, false));
	/* out of all proportion: it is not even allocated */
	CHECK(is_refused(make(1, true, (uint64_t)1 << 62), true, false));
	CHECK(is_refused(make(1, true, 1 << 30), true, false));
}

static void test_unknown_type(void)
{
	size_t size = make(1, true, FULL);

	section[0] = 3;
	CHECK(is_refused(size, true, false));
}

static void test_every_truncation(void)
{
	uint32_t type;
	size_t size, i;

	for (type = 1; type <= 2; type++) {
		size = make(type, true, FULL);
		for (i = 0; i < size; i += 3)
			CHECK(is_refused(i, true, false));
	}
	size = make_gnu();
	for (i = 0; i < size; i += 3)
		CHECK(is_refused(i, true, true));
}

/* Blocks without contents, as a hole of a file has them for zstd, are not followed. */
static void test_hole(void)
{
	const size_t size = (size_t)400 << 20;
	uint8_t *hole = mmap(NULL, size, PROT_READ | PROT_WRITE,
			     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1,
			     0);
	const struct ow_packed packed = { hole, size, true, false };
	struct ow_unpacked got = { NULL, 0, 0 };
	struct ow_owner own = { 0 };

	CHECK(hole != MAP_FAILED);
	put(hole, 2, 4);
	put(hole + 8, 1 << 20, 8);
	memcpy(hole + 24, "\x28\xb5\x2f\xfd", 4);
	CHECK(ow_inflate(&packed, &own, &got) == -OW_CODE_FORMAT);
	put(hole + 8, size, 8);
	CHECK(ow_inflate(&packed, &own, &got) == -OW_CODE_TIMEOUT);
	CHECK(!got.bytes && own.bytes == 0);
	munmap(hole, size);
}

#define LARGE ((size_t)32 << 20)

/* What comes to nothing is not made without end, and leaves room for others. */
static void test_many_large(void)
{
	uLongf z = compressBound(LARGE);
	uint8_t *zeros = calloc(1, LARGE), *packed = calloc(1, 24 + z);
	struct ow_unpacked got = { NULL, 0, 0 };
	struct ow_packed p = { .is_64 = true };
	uint64_t begun = ow_now_ns(), allowed;
	int failed = -OW_CODE_FORMAT;
	struct ow_owner own = { 0 };
	size_t nr;

	CHECK(zeros && packed &&
	      compress(packed + 24, &z, zeros, LARGE) == Z_OK);
	put(packed, 1, 4);
	put(packed + 8, LARGE, 8);
	packed[24 + z - 1] ^= 1; /* of the checksum */
	p.bytes = packed;
	p.size = 24 + z;
	for (nr = 0; nr < 100 && failed == -OW_CODE_FORMAT; nr++)
		failed = ow_inflate(&p, &own, &got);
	CHECK(nr > 20 && !got.bytes && own.bytes == 0);
	/* 1 GiB, and 64 MiB a second: a slow machine may come to unpack all. */
	allowed = 32 + (ow_now_ns() - begun) / 500000000 + 1;
	CHECK(nr <= allowed && (nr == 100 || failed == -OW_CODE_TIMEOUT));
	CHECK(is_whole(make(1, true, FULL), true, false));
	free(zeros);
	free(packed);
}

int main(void)
{
	static const struct test tests[] = {
		{ "whole", test_whole },
		{ "GNU", test_gnu },
		{ "wrong sizes", test_wrong_sizes },
		{ "unknown type", test_unknown_type },
		{ "truncation", test_every_truncation },
		{ "a hole", test_hole },
		{ "many large ones", test_many_large },
	};

	fill();
	return test_main(tests, OW_ARRAY_SIZE(tests));
}
