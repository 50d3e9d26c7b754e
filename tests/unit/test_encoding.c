// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#include "bytes.h"
#include "encoding.h"
#include "test.h"

enum {
	FIELD = 0x1000,
	TEXT = 0x20000,
	DATA = 0x30000,
	FUNC = 0x40000,
};

static const struct format {
	uint8_t enc;
	uint8_t size64, size32; /* of the bytes below; absptr differs */
	uint8_t bytes[8];
	uint64_t value;
	bool fixed;
} formats[] = {
	{ OW_PE_ABSPTR, 8, 4, { 0x78, 0x56, 0x34, 0x12 }, 0x12345678, true },
	{ OW_PE_ULEB128, 2, 2, { 0xb9, 0x64 }, 12857, false },
	{ OW_PE_UDATA2, 2, 2, { 0xf0, 0xff }, 0xfff0, true },
	{ OW_PE_UDATA4, 4, 4, { 0xf0, 0xff, 0xff, 0xff }, 0xfffffff0, true },
	{ OW_PE_UDATA8, 8, 8, { 1, 2, 3, 4, 5 }, 0x504030201, true },
	{ OW_PE_SLEB128, 2, 2, { 0xff, 0x7e }, (uint64_t)-129, false },
	{ OW_PE_SDATA2, 2, 2, { 0xf0, 0xff }, (uint64_t)-16, true },
	{ OW_PE_SDATA4, 4, 4, { 0xf0, 0xff, 0xff, 0xff }, (uint64_t)-16, true },
	{ OW_PE_SDATA8, 8, 8, { 1, 2, 3, 4, 5 }, 0x504030201, true },
};

static const struct {
	uint8_t enc;
	uint64_t vaddr;
} bases[] = {
	{ OW_PE_ABSPTR, 0 },     { OW_PE_PCREL, FIELD },
	{ OW_PE_TEXTREL, TEXT }, { OW_PE_DATAREL, DATA },
	{ OW_PE_FUNCREL, FUNC },
};

static struct ow_encoding encoding(uint8_t enc, uint8_t word)
{
	return (struct ow_encoding){
		.enc = enc,
		.word = word,
		.field = FIELD,
		.text = TEXT,
		.data = DATA,
		.func = FUNC,
	};
}

/* The size that was read, or -1 if the cursor went bad. */
static int read_value(const struct ow_encoding *e, const uint8_t *from,
		      size_t size, const struct ow_memory *mem, uint64_t *ret)
{
	uint8_t *bytes = exact(from, size);
	struct ow_cursor c = { bytes, bytes + size, false };
	int used;

	*ret = ow_encoding_read(e, &c, mem);
	used = c.bad ? -1 : (int)(c.pos - bytes);
	free(bytes);
	return used;
}

static void check_format(const struct format *f, uint8_t word)
{
	uint64_t mask = word == 8 ? ~(uint64_t)0 : 0xffffffff;
	int size = word == 8 ? f->size64 : f->size32;
	uint64_t value;
	size_t i;
	int cut;

	for (i = 0; i < OW_ARRAY_SIZE(bases); i++) {
		struct ow_encoding e = encoding(f->enc | bases[i].enc, word);

		CHECK(read_value(&e, f->bytes, 8, NULL, &value) == size);
		CHECK(value == ((f->value + bases[i].vaddr) & mask));
		for (cut = 0; cut < size; cut++) {
			CHECK(read_value(&e, f->bytes, cut, NULL, &value) ==
			      -1);
			CHECK(value == 0);
		}
	}
	CHECK(ow_encoding_size(f->enc, word) ==
	      (f->fixed ? (unsigned)size : 0));
	CHECK(ow_encoding_size(f->enc | OW_PE_PCREL | OW_PE_INDIRECT, word) ==
	      (f->fixed ? (unsigned)size : 0));
}

static void test_formats_and_bases(void)
{
	size_t i;

	for (i = 0; i < OW_ARRAY_SIZE(formats); i++) {
		check_format(&formats[i], 8);
		check_format(&formats[i], 4);
	}
}

static void test_null_stays_null(void)
{
	static const uint8_t zeros[8];
	size_t i, j;
	uint64_t value;

	for (i = 0; i < OW_ARRAY_SIZE(formats); i++) {
		for (j = 0; j < OW_ARRAY_SIZE(bases); j++) {
			struct ow_encoding e =
				encoding(formats[i].enc | bases[j].enc, 8);
			int size = formats[i].fixed ? formats[i].size64 : 1;

			CHECK(read_value(&e, zeros, 8, NULL, &value) == size);
			CHECK(value == 0);
			/* and isn't followed, either */
			e.enc |= OW_PE_INDIRECT;
			CHECK(read_value(&e, zeros, 8, NULL, &value) == size);
			CHECK(value == 0);
		}
	}
}

/* DW_EH_PE_aligned: a word, at the next vaddr that is a multiple of one. */
static void test_aligned(void)
{
	static const uint8_t bytes[16] = { 9, 9, 9, 9, 9, 0x34, 0x12 };
	struct ow_encoding e = encoding(OW_PE_ALIGNED, 8);
	uint64_t value;
	int cut;

	e.field = FIELD + 3;
	CHECK(read_value(&e, bytes, 16, NULL, &value) == 13);
	CHECK(value == 0x1234);
	for (cut = 0; cut < 13; cut++)
		CHECK(read_value(&e, bytes, cut, NULL, &value) == -1);
	e.field = FIELD + 8;
	CHECK(read_value(&e, bytes + 5, 11, NULL, &value) == 8);
	CHECK(value == 0x1234);
	e.word = 4;
	e.field = FIELD + 7;
	CHECK(read_value(&e, bytes + 4, 11, NULL, &value) == 5);
	CHECK(value == 0x1234);
}

static void test_indirect(void)
{
	/* At vaddr FIELD + 0x10, addr 0x555500001010. */
	static const uint8_t words[] = { 0x00, 0x20, 0x00, 0x00,
					 0x55, 0x55, 0x00, 0x00 };
	static const uint8_t bytes[] = { 0x10, 0, 0, 0 };
	struct fake_memory m = { { fake_read }, 0x555500001010, words, 8 };
	struct ow_encoding e =
		encoding(OW_PE_INDIRECT | OW_PE_PCREL | OW_PE_SDATA4, 8);
	uint64_t value;

	e.bias = 0x555500000000;
	CHECK(read_value(&e, bytes, 4, &m.mem, &value) == 4);
	CHECK(value == 0x2000);
	CHECK(read_value(&e, bytes, 4, NULL, &value) == -1 && value == 0);
	m.mem.read = NULL; /* as where there is no target */
	CHECK(read_value(&e, bytes, 4, &m.mem, &value) == -1 && value == 0);
	m.mem.read = fake_read;
	m.size = 7;
	CHECK(read_value(&e, bytes, 4, &m.mem, &value) == -1 && value == 0);
	/* 32 bits: the sum wraps */
	e.word = 4;
	e.bias = 0xfffff000;
	m.start = 0x10;
	CHECK(read_value(&e, bytes, 4, &m.mem, &value) == 4);
	CHECK(value == 0x3000);
}

static void test_wrap_around(void)
{
	static const uint8_t bytes[] = { 0xf0, 0xff, 0xff, 0xff };
	struct ow_encoding e = encoding(OW_PE_PCREL | OW_PE_SDATA4, 4);
	uint64_t value;

	e.field = 8;
	CHECK(read_value(&e, bytes, 4, NULL, &value) == 4);
	CHECK(value == 0xfffffff8);
	e.field = 0x20;
	CHECK(read_value(&e, bytes, 4, NULL, &value) == 4);
	CHECK(value == 0x10);
	e.word = 8;
	e.field = 8;
	CHECK(read_value(&e, bytes, 4, NULL, &value) == 4);
	CHECK(value == (uint64_t)-8);
}

static void test_what_is_no_encoding(void)
{
	static const uint8_t bytes[16] = { 1, 1, 1, 1, 1, 1, 1, 1 };
	static const uint8_t bad[] = { 5,    6,    7,          8,    0x0d,
				       0x0e, 0x0f, OW_PE_OMIT, 0x60, 0x70,
				       0x63, 0x7b, 0xe0,       0x1f };
	uint64_t value;
	size_t i;

	for (i = 0; i < OW_ARRAY_SIZE(bad); i++) {
		struct ow_encoding e = encoding(bad[i], 8);

		CHECK(read_value(&e, bytes, 16, NULL, &value) == -1);
		CHECK(value == 0);
	}
	for (i = 5; i < 9; i++)
		CHECK(ow_encoding_size((uint8_t)i, 8) == 0);
}

int main(void)
{
	static const struct test tests[] = {
		{ "every format with every base", test_formats_and_bases },
		{ "null stays null", test_null_stays_null },
		{ "aligned", test_aligned },
		{ "indirect", test_indirect },
		{ "wrap-around", test_wrap_around },
		{ "what is no encoding", test_what_is_no_encoding },
	};

	return test_main(tests, OW_ARRAY_SIZE(tests));
}
