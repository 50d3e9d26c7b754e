// SPDX-License-Identifier: BSD-2-Clause
/* Who has how much of the room for text, and what formats make of it. */
#include "textfit.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "test.h"

#define MOST_OWNERS 8

/* Texts, as textfit asks for them. */
struct texts {
	size_t nr;
	struct textfit_item of[16];
};

static struct textfit_item item_of(const void *of, size_t i)
{
	return ((const struct texts *)of)->of[i];
}

/* What is left out of texts. */
struct cut {
	char there[17]; /* '1' for each text that is there, '0' for others */
	uint64_t nr;
	uint64_t of[MOST_OWNERS];
};

static struct cut share(const struct texts *texts, uint64_t most)
{
	struct textfit fit = { .nr = texts->nr, .of = texts, .item = item_of };
	struct cut cut = { 0 };
	const struct profile_options o = {
		.most_text = most,
		.nr_cut_ret = &cut.nr,
		.nr_cut_of_ret = cut.of,
	};
	size_t i;

	CHECK(textfit_share(&fit, &o));
	for (i = 0; i < texts->nr; i++)
		cut.there[i] = textfit_has(&fit, i) ? '1' : '0';
	textfit_deinit(&fit);
	return cut;
}

/* Return true if these texts are there, and the numbers are right. */
static bool is_cut(struct cut cut, const char *there, uint64_t nr,
		   const uint64_t of[MOST_OWNERS])
{
	return strcmp(cut.there, there) == 0 && cut.nr == nr &&
	       memcmp(cut.of, of, sizeof(cut.of)) == 0;
}

static void test_all(void)
{
	static const struct texts none = { 0 };
	static const struct texts few = {
		3, { { 60, 1, false }, { 39, 2, false }, { 1, 0, false } }
	};
	static const uint64_t zero[MOST_OWNERS];

	CHECK(is_cut(share(&none, 1), "", 0, zero));
	CHECK(is_cut(share(&few, 100), "111", 0, zero));
}

static void test_shortest(void)
{
	static const struct texts texts = { 6,
					    { { 40, 0, false },
					      { 30, 0, false },
					      { 10, 0, false },
					      { 30, 0, false },
					      { 30, 0, false },
					      { 1000, 0, false } } };

	CHECK(is_cut(share(&texts, 100), "011110", 2, (uint64_t[8]){ 2 }));
	/* Of equal ones, the first. */
	CHECK(is_cut(share(&texts, 99), "011100", 3, (uint64_t[8]){ 3 }));
	CHECK(is_cut(share(&texts, 9), "000000", 6, (uint64_t[8]){ 6 }));
	CHECK(is_cut(share(&texts, 1139), "111110", 1, (uint64_t[8]){ 1 }));
	CHECK(is_cut(share(&texts, 1140), "111111", 0, (uint64_t[8]){ 0 }));
}

/* An owner that wants less than its part leaves the rest to others. */
static void test_owners(void)
{
	static const struct texts texts = { 9,
					    { { 50, 1, false },
					      { 20, 2, false },
					      { 50, 1, false },
					      { 5, 3, false },
					      { 50, 1, false },
					      { 20, 2, false },
					      { 20, 2, false },
					      { 5, 3, false },
					      { 1, 1, false } } };

	/* 10 of owner 3 are there; others have 45 each, or 49 after 41. */
	CHECK(is_cut(share(&texts, 100), "010101011", 4,
		     (uint64_t[8]){ 0, 3, 1 }));
	/* 10, then 60 of 2; the rest is 100. */
	CHECK(is_cut(share(&texts, 170), "110101111", 2,
		     (uint64_t[8]){ 0, 2 }));
	/* 3 each: owner 1 alone has a text as short. */
	CHECK(is_cut(share(&texts, 9), "000000001", 8,
		     (uint64_t[8]){ 0, 3, 3, 2 }));
}

/* A text that several have is written if one of them has room for it. */
static void test_copies(void)
{
	static const struct texts texts = {
		6,
		{ { 40, 1, false },
		  { 40, 2, true },
		  { 90, 1, false },
		  { 70, 1, false },
		  { 70, 3, true },
		  { 10, 2, false } },
	};
	static const uint64_t zero[MOST_OWNERS];

	/* 2 has 50, 3 its 70 of 75, and 1 has 40 of 80. */
	CHECK(is_cut(share(&texts, 200), "110111", 1, (uint64_t[8]){ 0, 1 }));
	/* 2 has 10 of 39, 3 none of 54, and 1 has 40 of 109. */
	CHECK(is_cut(share(&texts, 119), "110001", 2,
		     (uint64_t[8]){ 0, 2, 0, 1 }));
	CHECK(is_cut(share(&texts, 210), "111111", 0, zero));
}

#define MANY 500000

static struct textfit_item many_of(const void *of, size_t i)
{
	(void)of;
	return (struct textfit_item){ .size = 1 + i * 7919 % 10007,
				      .owner = (uint16_t)(i % 300) };
}

/* What is there is all that there may be, but for one text of each owner. */
static void test_many(void)
{
	struct textfit fit = { .nr = MANY, .item = many_of };
	const struct profile_options o = { .most_text = (uint64_t)1 << 30 };
	clock_t begun = clock();
	uint64_t size = 0;
	size_t i;

	CHECK(textfit_share(&fit, &o));
	begun = clock() - begun;
	for (i = 0; i < MANY; i++)
		size += textfit_has(&fit, i) ? many_of(NULL, i).size : 0;
	textfit_deinit(&fit);
	CHECK(size <= o.most_text && size > o.most_text - 300 * 10007);
	CHECK((double)begun / CLOCKS_PER_SEC < 10);
}

/* --- formats --- */

#define BIG 300 /* stacks of owner 1, whose thread is first in any order */

static uint32_t frame_of(struct profile *p, const char *function, uint64_t pc)
{
	const struct ow_name name = { .function = function };

	return profile_name(p, &name, pc, false, 0);
}

static void add(struct profile *p, uint16_t owner, const char *comm,
		const uint32_t *ids, uint32_t nr)
{
	const struct profile_stack s = {
		.comm = profile_string(p, comm),
		.end = OW_END_OUTERMOST,
		.owner = owner,
		.count = 1,
	};

	CHECK(profile_add(p, &s, ids, nr));
}

/* Stacks of two users, most of whose text is one's. */
static void fill(struct profile *p)
{
	const uint16_t first = profile_owner(p, 65534);
	const uint16_t second = profile_owner(p, 1000);
	char name[1001];
	uint32_t ids[3];
	int i;

	CHECK(first == 1 && second == 2 && profile_owner(p, 65534) == 1);
	memset(name, '<', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	for (i = 0; i < BIG; i++) {
		ids[0] = ids[1] = frame_of(p, name, (uint64_t)i);
		ids[2] = frame_of(p, i % 2 ? "a" : "b", 0);
		add(p, first, "!", ids, 2 + (uint32_t)i % 2);
	}
	ids[0] = frame_of(p, "main", 1);
	add(p, first, "both", ids, 1);
	add(p, second, "both", ids, 1);
	ids[1] = frame_of(p, "work", 2);
	add(p, second, "vim", ids, 2);
}

struct written {
	char *text; /* to be freed */
	uint64_t nr_cut, of[3];
};

static struct written write_some(const struct profile_writer *writer,
				 uint64_t most)
{
	struct profile p = { 0 };
	struct written w = { 0 };
	const struct profile_options o = {
		.title = "t",
		.most_text = most,
		.nr_cut_ret = &w.nr_cut,
		.nr_cut_of_ret = w.of,
	};
	size_t size;
	FILE *out = open_memstream(&w.text, &size);

	fill(&p);
	CHECK(writer->write(out, &p, &o));
	fclose(out);
	profile_deinit(&p);
	return w;
}

/* How often a text has another one. */
static int count(const char *text, const char *what)
{
	int nr = 0;

	while ((text = strstr(text, what))) {
		text += strlen(what);
		nr++;
	}
	return nr;
}

static void test_folded(void)
{
	/* "!;[a;]<...;<... 300": two texts of different length */
	struct written w = write_some(&profile_folded, 3000);

	CHECK(w.nr_cut == 1 && w.of[0] == 0 && w.of[1] == 1 && w.of[2] == 0);
	CHECK(count(w.text, "!;<<<") == 1 && count(w.text, "!;a;<") == 0);
	CHECK(strstr(w.text, "\nboth;main 2\nvim;work;main 1\n"));
	free(w.text);
	w = write_some(&profile_folded, 150);
	CHECK(strcmp(w.text, "both;main 2\nvim;work;main 1\n") == 0);
	CHECK(w.nr_cut == 2 && w.of[1] == 2 && w.of[2] == 0);
	free(w.text);
}

static void test_perf(void)
{
	struct written w = write_some(&profile_perf, 30000);

	CHECK(count(w.text, "! 0/0") == (int)(BIG - w.of[1]));
	CHECK(w.nr_cut == w.of[1] && w.of[1] > BIG - 20 && w.of[1] < BIG);
	CHECK(w.of[0] == 0 && w.of[2] == 0);
	CHECK(count(w.text, "both 0/0") == 2 && count(w.text, "vim 0/0") == 1);
	free(w.text);
}

/* Names are long once they are quoted. */
static void check_names(const struct profile_writer *writer, size_t size)
{
	struct written w = write_some(writer, 100000);
	int there = count(w.text, "\\u003c") / 1000;

	CHECK(there == (int)(100000 / size) &&
	      w.nr_cut == BIG - (uint64_t)there);
	CHECK(count(w.text, "main") && count(w.text, "work") &&
	      count(w.text, "vim"));
	free(w.text);
}

static void test_names(void)
{
	struct written w;

	check_names(&profile_json, 6000);
	/* Strings are there once more, as threads' names are among them. */
	w = write_some(&profile_speedscope, 100000);
	CHECK(count(w.text, "\\u003c") == 17 * 1000);
	CHECK(w.nr_cut == BIG - 16 && count(w.text, "\"work\"") == 2);
	free(w.text);
	w = write_some(&profile_html, 100000);
	CHECK(count(w.text, "\\u003c") == 17 * 1000);
	CHECK(w.nr_cut == BIG - 16 && count(w.text, "[\"work\",") == 2);
	free(w.text);
}

int main(void)
{
	static const struct test tests[] = {
		{ "room for all", test_all },
		{ "the shortest first", test_shortest },
		{ "owners", test_owners },
		{ "what several have", test_copies },
		{ "many texts", test_many },
		{ "folded stacks", test_folded },
		{ "samples as perf prints them", test_perf },
		{ "names, quoted", test_names },
	};

	return test_main(tests, OW_ARRAY_SIZE(tests));
}
