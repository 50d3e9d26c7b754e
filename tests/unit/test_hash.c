// SPDX-License-Identifier: BSD-2-Clause
/* Hashes by the key of a run. */
#include "hash.h"

#include <string.h>

#include "test.h"

#define MANY 4096

static void test_words(void)
{
	uint8_t bytes[64] = { 1, 2, 3 }, copy[sizeof(bytes) + 1];
	uint64_t word = 0x0123456789abcdefULL;

	CHECK(ow_hash_word(word) == ow_hash(&word, sizeof(word)));
	memcpy(copy + 1, bytes, sizeof(bytes));
	for (size_t i = 0; i <= sizeof(bytes); i++) {
		CHECK(ow_hash(bytes, i) == ow_hash(copy + 1, i));
		CHECK(i == 0 || ow_hash(bytes, i) != ow_hash(bytes, i - 1));
	}
}

/* What is alike but for one bit shares no more slots than by chance. */
static void test_spread(void)
{
	uint16_t taken[MANY] = { 0 }, most = 0;

	for (uint64_t i = 0; i < MANY; i++) {
		uint16_t *slot = &taken[ow_hash_word(i << 40) % MANY];

		if (++*slot > most)
			most = *slot;
	}
	CHECK(most < 16);
}

/* FNV-1a of 32 bits makes these alike. */
static void test_known_collision(void)
{
	CHECK(ow_hash("costarring", 10) != ow_hash("liquid", 6));
	CHECK((uint32_t)ow_hash("declinate", 9) !=
	      (uint32_t)ow_hash("macallums", 9));
}

static uint64_t hash_of_another_run(const char *self)
{
	char text[32] = "";
	uint64_t hash = 0;
	FILE *out = popen(self, "r");

	if (!out)
		return 0;
	if (fgets(text, sizeof(text), out))
		sscanf(text, "%lx", &hash);
	pclose(out);
	return hash;
}

static const char *self;

static void test_another_run(void)
{
	char command[4096];
	uint64_t first, second;

	snprintf(command, sizeof(command), "'%s' hash", self);
	first = hash_of_another_run(command);
	second = hash_of_another_run(command);
	CHECK(first && second && first != second);
}

int main(int argc, char **argv)
{
	static const struct test tests[] = {
		{ "words", test_words },
		{ "spread", test_spread },
		{ "a known collision", test_known_collision },
		{ "another run has another key", test_another_run },
	};

	if (argc > 1) {
		printf("%lx\n", ow_hash_word(1));
		return 0;
	}
	self = argv[0];
	return test_main(tests, OW_ARRAY_SIZE(tests));
}
