// SPDX-License-Identifier: BSD-2-Clause
/* What is noted of reads of a target's memory, and the pieces that it makes. */
#include "readlog.h"

#include <string.h>

#include "test.h"

#define BASE  0x7000
#define WORDS 100000

static void add_word(struct ow_readlog *log, uint64_t at)
{
	ow_readlog_add(log, BASE + 8 * at, &at, sizeof(at));
}

/* A walk may read each word many times, as a rule for each register does. */
static void test_read_again(void)
{
	struct ow_readlog log = { 0 };
	struct ow_pieces pieces = { 0 };
	uint64_t word;

	for (uint64_t at = 0; at < WORDS; at++)
		for (int i = 0; i < 17; i++)
			add_word(&log, at);
	CHECK(log.nr < 4 * WORDS && log.room < 6 * WORDS);
	ow_readlog_sort(&log);
	CHECK(ow_pieces_join(&pieces, &log) && pieces.nr == 1);
	CHECK(pieces.list[0].start == BASE && pieces.list[0].size == 8 * WORDS);
	CHECK(ow_pieces_read(&pieces, BASE + 8 * 4711, &word, 8) == 0 &&
	      word == 4711);
	ow_pieces_deinit(&pieces);
	ow_readlog_clear(&log);
	CHECK(log.nr == 0);
	add_word(&log, 1);
	CHECK(log.nr == 1 && log.list[0].addr == BASE + 8);
	ow_readlog_deinit(&log);
}

/* Of the same address, reads of other bytes, or of more, are others. */
static void test_read_otherwise(void)
{
	static const uint8_t bytes[16] = { 1, 2, 3 };
	struct ow_readlog log = { 0 };

	for (int i = 0; i < WORDS; i++) {
		ow_readlog_add(&log, BASE, bytes, 8);
		ow_readlog_add(&log, BASE, bytes, 16);
		ow_readlog_add(&log, BASE, bytes + 1, 8);
	}
	ow_readlog_sort(&log);
	for (size_t i = 1; i < log.nr; i++)
		CHECK(log.list[i].addr == BASE);
	CHECK(log.nr >= 3 && log.nr <= 2 * 32768 + 3);
	ow_readlog_deinit(&log);
}

int main(void)
{
	static const struct test tests[] = {
		{ "words that are read again", test_read_again },
		{ "reads of one address", test_read_otherwise },
	};

	return test_main(tests, OW_ARRAY_SIZE(tests));
}
