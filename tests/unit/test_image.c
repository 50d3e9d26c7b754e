// SPDX-License-Identifier: BSD-2-Clause
#include "image.h"

#include <stdlib.h>
#include <string.h>

#include "test.h"

#define PAGES 64

static struct ow_bpf_range range(uint64_t start, uint64_t end, uint32_t object)
{
	return (struct ow_bpf_range){
		.start = start, .end = end, .object = object, .mapped = object
	};
}

/* Are they in order, and does none overlap another one? */
static bool is_flat(const struct ow_bpf_range *r, uint32_t nr)
{
	uint32_t i;

	for (i = 0; i < nr; i++)
		if (r[i].start >= r[i].end || (i && r[i - 1].end > r[i].start))
			return false;
	return true;
}

/* The object that is mapped at a page, or 0. */
static uint32_t object_at(const struct ow_bpf_range *r, uint32_t nr,
			  uint64_t page)
{
	const struct ow_image image = { .ranges = (void *)r, .nr = nr };
	const struct ow_bpf_range *found = ow_image_range(&image, page);

	return found ? found->object : 0;
}

static void test_new_covers_old(void)
{
	struct ow_bpf_range old[] = { range(10, 20, 1), range(20, 30, 2),
				      range(40, 50, 3) };
	struct ow_bpf_range new[] = { range(0, 5, 4), range(12, 14, 5),
				      range(25, 45, 6) };
	const struct ow_image_list a = { old, 3 }, b = { new, 3 };
	struct ow_bpf_range to[9];

	CHECK(ow_image_overlay(&a, &b, to) == 7);
	CHECK(is_flat(to, 7));
	CHECK(to[0].end == 5 && to[1].end == 12 && to[2].end == 14 &&
	      to[3].end == 20 && to[4].end == 25 && to[5].end == 45 &&
	      to[6].start == 45 && to[6].end == 50);
	CHECK(to[1].object == 1 && to[2].object == 5 && to[3].object == 1 &&
	      to[4].object == 2 && to[5].object == 6 && to[6].object == 3);
}

/* A JIT's code that is made to run again, a page at a time. */
static void test_same_code_stays_whole(void)
{
	struct ow_bpf_range old[] = { range(10, 20, 0) };
	struct ow_bpf_range new[] = { range(12, 13, 0), range(15, 21, 0) };
	const struct ow_image_list a = { old, 1 }, b = { new, 2 };
	struct ow_bpf_range to[5];

	CHECK(ow_image_overlay(&a, &b, to) == 2);
	CHECK(to[0].start == 10 && to[0].end == 15 && to[1].start == 15 &&
	      to[1].end == 21);
}

/* As many mappings as that, in memory of just that size. */
static struct ow_image_list list_of(uint32_t nr)
{
	struct ow_image_list ret = { calloc(nr, sizeof(*ret.all)), nr };

	if (!ret.all)
		abort();
	return ret;
}

/* Of many mappings, made one after the other, the last one of a page holds. */
static void test_last_one_holds(void)
{
	uint32_t want[PAGES], i, nr, page, first, size, round;
	struct ow_image_list maps;

	srand(1);
	for (round = 0; round < 200; round++) {
		memset(want, 0, sizeof(want));
		nr = 1 + (uint32_t)rand() % 100;
		maps = list_of(nr);
		for (i = 0; i < nr; i++) {
			first = (uint32_t)rand() % PAGES;
			size = 1 + (uint32_t)rand() % (PAGES - first);
			maps.all[i] = range(first, first + size, i + 1);
			for (page = first; page < first + size; page++)
				want[page] = i + 1;
		}
		CHECK(ow_image_flatten(&maps));
		CHECK(maps.nr > 0 && maps.nr < 2 * nr);
		CHECK(is_flat(maps.all, maps.nr));
		for (page = 0; page < PAGES; page++)
			if (object_at(maps.all, maps.nr, page) != want[page])
				break;
		CHECK(page == PAGES);
		free(maps.all);
	}
}

/* One mapping that others split comes to more ranges than there were mappings. */
static void test_split_mapping(void)
{
	enum {
		HOLES = 1000
	};
	struct ow_image_list maps = list_of(HOLES + 1);
	uint32_t i;

	maps.all[0] = range(0, 2 * HOLES + 1, 1);
	for (i = 0; i < HOLES; i++)
		maps.all[i + 1] = range(2 * i + 1, 2 * i + 2, 2);
	CHECK(ow_image_flatten(&maps) && maps.nr == 2 * HOLES + 1);
	CHECK(is_flat(maps.all, maps.nr));
	for (i = 0; i < maps.nr; i++)
		if (maps.all[i].object != 1 + i % 2)
			break;
	CHECK(i == 2 * HOLES + 1);
	free(maps.all);
}

int main(void)
{
	static const struct test tests[] = {
		{ "what is new covers what is old", test_new_covers_old },
		{ "the same code stays whole", test_same_code_stays_whole },
		{ "of many mappings the last one holds", test_last_one_holds },
		{ "one mapping that others split", test_split_mapping },
	};

	return test_main(tests, sizeof(tests) / sizeof(tests[0]));
}
