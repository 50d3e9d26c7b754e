// SPDX-License-Identifier: BSD-2-Clause
/* The order of folded stacks, and what it costs. */
#include "profile.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "test.h"

#define LONG   16000
#define LEVELS 15 /* of calls of one of two functions */

static uint32_t frame_of(struct profile *p, const char *function)
{
	const struct ow_name name = { .function = function };

	return profile_name(p, &name, 0, false, 0);
}

static void add(struct profile *p, const char *comm, enum ow_end end,
		const uint32_t *ids, uint32_t nr)
{
	const struct profile_stack s = {
		.comm = profile_string(p, comm),
		.end = (uint8_t)end,
		.count = 1,
	};

	CHECK(profile_add(p, &s, ids, nr));
}

/* Leave the stack of a line. */
static void cut_weight(char *line)
{
	char *blank = strrchr(line, ' ');

	CHECK(blank);
	if (blank)
		*blank = '\0';
}

/* Return how many lines there are; each is after the one before it. */
static int check_order(char *text)
{
	char *line, *rest = text, *before = NULL;
	int nr = 0;

	while ((line = strsep(&rest, "\n")) && *line) {
		cut_weight(line);
		CHECK(!before || strcmp(before, line) < 0);
		before = line;
		nr++;
	}
	return nr;
}

/* Names that begin others, which go on with what is before and after ';'. */
static void test_order(void)
{
	static const char *const names[] = {
		"a",   "a!", "a:", "a;",       "a;b", "b",
		"a<b", "aa", "",   "\xc3\xa4", "a",   "a_[k]"
	};
	struct profile p = { .is_placeless = true };
	const struct profile_options o = { 0 };
	const int nr_names = OW_ARRAY_SIZE(names);
	uint32_t ids[5];
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);
	int i, k, nr;

	srand(1);
	for (i = 0; i < 20000; i++) {
		nr = rand() % 5;
		for (k = 0; k < nr; k++)
			ids[k] = frame_of(&p, names[rand() % nr_names]);
		add(&p, names[rand() % nr_names],
		    rand() % 2 ? OW_END_OUTERMOST : OW_END_LIMIT, ids, nr);
	}
	CHECK(profile_folded.write(out, &p, &o));
	fclose(out);
	CHECK(check_order(text) > 5000);
	free(text);
	profile_deinit(&p);
}

/* Any stack of calls of a or b. */
static void add_all(struct profile *p, const char *a, const char *b)
{
	const uint32_t of[] = { frame_of(p, a), frame_of(p, b) };
	uint32_t ids[LEVELS];
	int i, k;

	for (i = 0; i < 1 << LEVELS; i++) {
		for (k = 0; k < LEVELS; k++)
			ids[k] = of[i >> k & 1];
		add(p, "t", OW_END_OUTERMOST, ids, LEVELS);
	}
}

/* The seconds of a CPU that it takes to write stacks of two functions. */
static double cost(const char *a, const char *b)
{
	struct profile p = { .is_placeless = true };
	const struct profile_options o = { 0 };
	FILE *out = fopen("/dev/null", "w");
	clock_t begun;

	add_all(&p, a, b);
	begun = clock();
	CHECK(profile_folded.write(out, &p, &o));
	begun = clock() - begun;
	fclose(out);
	profile_deinit(&p);
	return (double)begun / CLOCKS_PER_SEC;
}

/* Names that differ in their ends cost what those that differ in their beginnings do. */
static void test_long_names(void)
{
	char a[LONG], b[LONG];
	double early, late;

	memset(a, 'x', LONG);
	memset(b, 'x', LONG);
	a[LONG - 1] = b[LONG - 1] = '\0';
	a[0] = 'a';
	early = cost(a, b);
	a[0] = 'x';
	a[LONG - 2] = 'a';
	late = cost(a, b);
	CHECK(late < 3 * early);
	if (late >= 3 * early)
		printf("# %.3f s and %.3f s\n", early, late);
}

int main(void)
{
	static const struct test tests[] = {
		{ "lines are in order", test_order },
		{ "long names that differ in their ends", test_long_names },
	};

	return test_main(tests, OW_ARRAY_SIZE(tests));
}
