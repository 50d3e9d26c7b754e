// SPDX-License-Identifier: BSD-2-Clause
#include "replaced.h"

#include <string.h>

#include "capture.h"
#include "mappings.h"
#include "test.h"

#define CODE(from, to, at, number)                                    \
	{                                                             \
		.start = (from), .end = (to), .off = (at), .dev = 1,  \
		.inode = (number), .executable = true, .path = "/lib" \
	}

static struct ow_mappings list_of(struct ow_mapping *list, size_t nr)
{
	return (struct ow_mappings){ .list = list, .nr = nr };
}

/* Each place that one list alone has, or that has another file or part in it. */
static void test_note(void)
{
	struct ow_mapping was[] = { CODE(0x1000, 0x3000, 0, 7),
				    CODE(0x3000, 0x5000, 0, 8),
				    CODE(0x8000, 0x9000, 0x1000, 7) };
	struct ow_mapping is[] = { CODE(0x1000, 0x2000, 0, 7),
				   CODE(0x2000, 0x3000, 0x1000, 7),
				   CODE(0x3000, 0x4000, 0x1000, 8),
				   CODE(0x8000, 0xa000, 0x1000, 7) };
	struct ow_mappings before = list_of(was, 3), now = list_of(is, 4);
	struct ow_replaced r = { .nr = 0 };

	ow_replaced_note(&r, &before, &before, 1);
	CHECK(r.nr == 0);
	ow_replaced_note(&r, &before, &now, 1);
	CHECK(r.nr == 2);
	CHECK(r.list[0].start == 0x3000 && r.list[0].end == 0x5000);
	CHECK(r.list[1].start == 0x9000 && r.list[1].end == 0xa000);
	CHECK(ow_replaced_has(&r, 0x4800, 0) &&
	      !ow_replaced_has(&r, 0x4800, 1));
	CHECK(!ow_replaced_has(&r, 0x2000, 0) &&
	      !ow_replaced_has(&r, 0x8800, 0));
	/* What was called at its end. */
	CHECK(ow_replaced_has(&r, 0x5000, 0) &&
	      !ow_replaced_has(&r, 0x5001, 0));
}

/* Code of which none is known to be the same. */
static void test_many(void)
{
	struct ow_mapping was[2 * OW_MOST_REPLACED];
	struct ow_mappings before = list_of(was, 2 * OW_MOST_REPLACED);
	struct ow_mappings none = list_of(NULL, 0);
	struct ow_replaced r = { .nr = 0 };
	uint64_t i;

	for (i = 0; i < 2 * OW_MOST_REPLACED; i++)
		was[i] = (struct ow_mapping)CODE(0x10000 + i * 0x2000,
						 0x11000 + i * 0x2000, 0, 7);
	ow_replaced_note(&r, &before, &none, 3);
	CHECK(r.nr == OW_MOST_REPLACED);
	for (i = 0; i < 2 * OW_MOST_REPLACED; i++)
		CHECK(ow_replaced_has(&r, 0x10800 + i * 0x2000, 2));
	CHECK(!ow_replaced_has(&r, 0x10800, 3));
}

/* Return true if a copy of a thread of list 0, or another, was cut. */
static bool is_cut(const struct ow_replaced *r, struct ow_region *stack,
		   uint32_t list, unsigned int word, uint64_t mask)
{
	struct ow_replaced_copy copy = {
		.region = stack,
		.list = list,
		.word = word,
		.mask = mask,
	};

	ow_replaced_cut(r, &copy, 1);
	return copy.is_cut;
}

static void test_cut(void)
{
	struct ow_mapping was[] = { CODE(0x1000, 0x2000, 0, 7) };
	struct ow_mappings before = list_of(was, 1), none = list_of(NULL, 0);
	struct ow_replaced r = { .nr = 0 };
	uint64_t words[] = { 0x5000, 0x3000, 0x1800, 0x1900 };
	uint32_t halves[] = { 5, 0x80001800, 7 };
	struct ow_region stack = { .start = 0x7000,
				   .size = sizeof(words),
				   .bytes = (uint8_t *)words };

	ow_replaced_note(&r, &before, &none, 1);
	CHECK(!is_cut(&r, &stack, 1, 8, UINT64_MAX));
	CHECK(is_cut(&r, &stack, 0, 8, UINT64_MAX));
	CHECK(stack.size == 16);
	CHECK(!is_cut(&r, &stack, 0, 8, UINT64_MAX));
	stack = (struct ow_region){ .start = 0x7000,
				    .size = sizeof(halves),
				    .bytes = (uint8_t *)halves };
	CHECK(!is_cut(&r, &stack, 0, 4, UINT64_MAX));
	CHECK(is_cut(&r, &stack, 0, 4, 0x7fffffff));
	CHECK(stack.size == 4);
	/* It begins within a word. */
	memcpy((uint8_t *)words + 4, &words[2], 8);
	stack = (struct ow_region){ .start = 0x7004,
				    .size = 28,
				    .bytes = (uint8_t *)words };
	CHECK(is_cut(&r, &stack, 0, 8, UINT64_MAX) && stack.size == 4);
	stack = (struct ow_region){ .start = 0x7004, .size = 0 };
	CHECK(!is_cut(&r, &stack, 0, 8, UINT64_MAX));
}

#define STACK     0x7000ULL
#define NR_WORDS  4096U
#define NR_COPIES 512U

/* Places that are out of order, and overlap; of three lists. */
static void note_places(struct ow_replaced *r)
{
	uint64_t start, i;

	*r = (struct ow_replaced){ .nr = OW_MOST_REPLACED };
	for (i = 0; i < r->nr; i++) {
		start = 0x100000 + i * 37 % 64 * 0x1000;
		r->list[i].start = start;
		r->list[i].end = start + (i % 5 ? 0x400 : 0x2000);
		r->list[i].next = (uint32_t)(1 + i % 3);
	}
}

/* How far the copy of a thread goes, where each word is looked up by itself. */
static size_t size_by_word(const struct ow_replaced *r,
			   const struct ow_replaced_copy *c)
{
	const struct ow_region *stack = c->region;
	uint64_t off = -stack->start & (c->word - 1), value;

	for (; off + c->word <= stack->size; off += c->word) {
		value = 0;
		memcpy(&value, stack->bytes + off, c->word);
		if (ow_replaced_has(r, value & c->mask, c->list))
			return off;
	}
	return stack->size;
}

/* Let copies begin and end anywhere in the same bytes, of threads of one list or more. */
static void make_copies(struct ow_replaced_copy *copies,
			struct ow_region *regions, const uint8_t *bytes,
			uint32_t nr_lists)
{
	uint64_t i, from, size;

	for (i = 0; i < NR_COPIES; i++) {
		from = i * 2654435761U % (8UL * NR_WORDS);
		size = i % 7 * 1021;
		if (size > 8UL * NR_WORDS - from)
			size = 8UL * NR_WORDS - from;
		regions[i] = (struct ow_region){ .start = STACK + from,
						 .size = size,
						 .bytes = bytes + from };
		copies[i] = (struct ow_replaced_copy){
			.region = &regions[i],
			.list = (uint32_t)(i % nr_lists),
			.word = 8,
			.mask = UINT64_MAX,
			.thread = i,
		};
		if (nr_lists > 1 && i % 11 == 0)
			copies[i].word = 4;
	}
}

/* Copies end where they would if each was looked through by itself. */
static void test_cut_shared(void)
{
	static struct ow_replaced_copy copies[NR_COPIES];
	static struct ow_region regions[NR_COPIES];
	static uint64_t words[NR_WORDS];
	static size_t want[NR_COPIES], whole[NR_COPIES];
	struct ow_replaced r;
	size_t i;

	note_places(&r);
	for (i = 0; i < NR_WORDS; i++)
		words[i] = i % 97 ? i * 8 : 0x100000 + i * 4099 % 0x48000;
	make_copies(copies, regions, (uint8_t *)words, 4);
	for (i = 0; i < NR_COPIES; i++) {
		want[i] = size_by_word(&r, &copies[i]);
		whole[i] = regions[i].size;
	}
	ow_replaced_cut(&r, copies, NR_COPIES);
	for (i = 0; i < NR_COPIES; i++) {
		CHECK(regions[i].size == want[i]);
		CHECK(copies[i].thread == i);
		CHECK(copies[i].is_cut == (want[i] < whole[i]));
	}
}

/* However many threads share bytes, each word is looked at once. */
static void test_cut_work(void)
{
	static struct ow_replaced_copy copies[NR_COPIES];
	static struct ow_region regions[NR_COPIES];
	static uint64_t words[NR_WORDS];
	struct ow_replaced r;
	size_t i;

	note_places(&r);
	make_copies(copies, regions, (uint8_t *)words, 1);
	for (i = 0; i < NR_COPIES; i++)
		regions[i].size =
			8UL * NR_WORDS - (size_t)(regions[i].start - STACK);
	CHECK(ow_replaced_cut(&r, copies, NR_COPIES) <= NR_WORDS);
	words[NR_WORDS - 1] = r.list[0].start;
	CHECK(ow_replaced_cut(&r, copies, NR_COPIES) <= NR_WORDS);
	for (i = 0; i < NR_COPIES; i++)
		CHECK(copies[i].is_cut ==
		      (regions[i].start <= STACK + 8UL * (NR_WORDS - 1)));
	/* No place counts for what the last list was taken by. */
	for (i = 0; i < NR_COPIES; i++)
		copies[i].list = 3;
	CHECK(ow_replaced_cut(&r, copies, NR_COPIES) == 0);
}

int main(void)
{
	static const struct test tests[] = {
		{ "where lists of mappings differ", test_note },
		{ "where they differ at many places", test_many },
		{ "a stack that leads to replaced code", test_cut },
		{ "copies that share bytes are cut alike", test_cut_shared },
		{ "their words are looked at once", test_cut_work },
	};

	return test_main(tests, OW_ARRAY_SIZE(tests));
}
