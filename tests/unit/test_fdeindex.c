// SPDX-License-Identifier: BSD-2-Clause
/* Listing the FDEs of a section, by one thread or by two. */
#include "cfimake.h"
#include "fdeindex.h"

#include "owner.h"
#include "test.h"

enum {
	MANY = OW_FDEINDEX_MANY + 100,
	FIRST = 0x100000,
	APART = 0x10,
	SIZE = 24, /* of an FDE */
};

static uint8_t section[64 + SIZE * MANY];
static size_t size, offs[MANY];

/* Function i of the section's order; neighbours have changed places. */
static uint64_t start_of(size_t i)
{
	return FIRST + (i ^ 1) * APART;
}

static void put_word(uint64_t value)
{
	memcpy(section + size, &value, 4);
	size += 4;
}

static void put_one(uint64_t start, uint32_t length)
{
	put_word(SIZE - 4);
	put_word(size);
	put_word(start ? start - (SECTION + size) : 0);
	put_word(length);
	section[size++] = 0;
	memcpy(section + size, insns, sizeof(insns));
	size += sizeof(insns);
}

static void put_many(void)
{
	size_t i;

	b.size = 0;
	put_cie(&usual);
	memcpy(section, b.at, b.size);
	size = b.size;
	for (i = 0; i < MANY; i++) {
		offs[i] = size;
		/* Some were dropped, and of some nothing is left. */
		put_one(i % 100 == 7 ? 0 : start_of(i),
			i % 100 == 9 ? 0 : APART);
	}
}

static struct ow_cfi cfi_of_many(void)
{
	return cfi_over(&usual, section, size);
}

/* A header whose pairs all point to off. */
static void set_hdr(struct ow_cfi *cfi, uint8_t *table, uint64_t off)
{
	struct bytes hdr = { .size = 0 };
	uint64_t i;

	for (i = 0; i < 2; i++)
		put(&hdr, 4, i ? SECTION + off - HDR : 0);
	for (i = 0; i < MANY; i++)
		memcpy(table + 8 * i, hdr.at, 8);
	cfi->hdr = (struct ow_section){ table, 8 * MANY, HDR };
	cfi->hdr_table = table;
	cfi->hdr_nr = MANY;
	cfi->hdr_enc = OW_PE_DATAREL | OW_PE_SDATA4;
}

/* All that are worth it, in order; those of the section's first nr. */
static void check_list(const struct ow_fde_index *index, size_t nr)
{
	size_t i, k = 0, from;

	for (i = 0; i < nr; i++) {
		from = i ^ 1;
		if (from >= nr || from % 100 == 7 || from % 100 == 9)
			continue;
		CHECK(k < index->nr);
		if (k == index->nr)
			return;
		CHECK(index->refs[k].start == start_of(from));
		CHECK(index->refs[k].off == offs[from]);
		k++;
	}
	CHECK(k == index->nr);
}

static void check_build(const struct ow_cfi *cfi, size_t nr)
{
	struct ow_fde_index index = { .nr = 0 };
	struct ow_owner own = { 0 };

	CHECK(ow_fde_index_build(cfi, false, &own, &index) == 0);
	CHECK(own.bytes >= index.nr * sizeof(*index.refs));
	ow_owner_give(&own, own.bytes);
	check_list(&index, nr);
	free((void *)index.refs);
}

static void test_alone(void)
{
	struct ow_cfi cfi;

	put_many();
	cfi = cfi_of_many();
	check_build(&cfi, MANY);
}

static void test_halves(void)
{
	static uint8_t table[8 * MANY];
	const uint64_t good[] = { offs[MANY / 2], offs[1], offs[MANY - 1], 0 };
	/* Within an FDE, or behind all. */
	const uint64_t bad[] = { offs[MANY / 2] + 1, offs[1] + 8,  size,
				 size + 1,           ~(uint64_t)0, INT32_MAX };
	struct ow_cfi cfi = cfi_of_many();
	size_t i;

	for (i = 0; i < OW_ARRAY_SIZE(good); i++) {
		set_hdr(&cfi, table, good[i]);
		check_build(&cfi, MANY);
	}
	for (i = 0; i < OW_ARRAY_SIZE(bad); i++) {
		set_hdr(&cfi, table, bad[i]);
		check_build(&cfi, MANY);
	}
}

/* What is behind a terminator isn't there, whatever the header says. */
static void test_terminator(void)
{
	static uint8_t table[8 * MANY];
	struct ow_cfi cfi;

	put_many();
	memset(section + offs[1000], 0, 4);
	cfi = cfi_of_many();
	set_hdr(&cfi, table, offs[MANY / 2]);
	check_build(&cfi, 1000);
	set_hdr(&cfi, table, offs[1000]);
	check_build(&cfi, 1000);
	set_hdr(&cfi, table, offs[500]);
	check_build(&cfi, 1000);
}

/* A header that lists the section's first nr; return how many these are. */
static size_t list_in_hdr(struct ow_cfi *cfi, uint8_t *table, size_t nr)
{
	size_t i, k = 0;
	uint32_t pair[2];

	for (i = 0; i < nr; i++) {
		if ((i ^ 1) >= nr)
			continue;
		pair[0] = (uint32_t)(start_of(i ^ 1) - HDR);
		pair[1] = (uint32_t)(SECTION + offs[i ^ 1] - HDR);
		memcpy(table + 8 * k++, pair, 8);
	}
	cfi->hdr = (struct ow_section){ table, 8 * k, HDR };
	cfi->hdr_table = table;
	cfi->hdr_nr = k;
	cfi->hdr_enc = OW_PE_DATAREL | OW_PE_SDATA4;
	return k;
}

static void test_of_hdr(void)
{
	static uint8_t table[8 * 100];
	struct ow_fde_index index = { .nr = 0 };
	struct ow_cfi cfi;
	uint8_t swap[8];
	struct ow_owner own = { 0 };
	size_t i;

	put_many();
	/* None of the first six was dropped. */
	size = offs[6];
	cfi = cfi_of_many();
	CHECK(ow_fde_index_of_hdr(&cfi, &own, &index) < 0);
	CHECK(list_in_hdr(&cfi, table, 6) == 6);
	CHECK(ow_fde_index_of_hdr(&cfi, &own, &index) == 0);
	CHECK(index.nr == 6);
	for (i = 0; i < index.nr; i++) {
		CHECK(index.refs[i].start == start_of(i ^ 1));
		CHECK(index.refs[i].off == offs[i ^ 1]);
	}
	free((void *)index.refs);
	CHECK(own.bytes == 6 * sizeof(*index.refs));
	ow_owner_give(&own, own.bytes);

	/* It lists less than there is, or more. */
	cfi.hdr_nr = 5;
	CHECK(ow_fde_index_of_hdr(&cfi, &own, &index) < 0);
	cfi.hdr_nr = 6;
	cfi.eh_frame.size = offs[5];
	CHECK(ow_fde_index_of_hdr(&cfi, &own, &index) < 0);
	cfi.eh_frame.size = offs[6] - 1;
	CHECK(ow_fde_index_of_hdr(&cfi, &own, &index) < 0);
	cfi.eh_frame.size = offs[6];

	/* Not in order, one twice, or none of the section's. */
	memcpy(swap, table + 8, 8);
	memcpy(table + 8, table, 8);
	CHECK(ow_fde_index_of_hdr(&cfi, &own, &index) < 0);
	memcpy(table, swap, 8);
	CHECK(ow_fde_index_of_hdr(&cfi, &own, &index) < 0);
	list_in_hdr(&cfi, table, 6);
	table[8 * 2 + 7] ^= 0x40;
	CHECK(ow_fde_index_of_hdr(&cfi, &own, &index) < 0);
	CHECK(own.bytes == 0);
}

int main(void)
{
	static const struct test tests[] = {
		{ "alone", test_alone },
		{ "halves", test_halves },
		{ "terminator", test_terminator },
		{ "as the header lists them", test_of_hdr },
	};

	return test_main(tests, OW_ARRAY_SIZE(tests));
}
