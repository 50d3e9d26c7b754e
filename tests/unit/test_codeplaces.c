// SPDX-License-Identifier: BSD-2-Clause
#include "codeplaces.h"

#include <stdlib.h>

#include "image.h"
#include "test.h"

#define HERE  ((uint64_t)1 << 46)
#define PLACE ((uint64_t)1 << 16)
#define LARGE ((uint64_t)1 << 32)
#define HUGE  ((uint64_t)1 << 40)

static bool has(const struct ow_codeplaces *p, uint64_t start, uint64_t size)
{
	return ow_codeplaces_has(p, start, start + size);
}

/* Programs, one after another; what none has is mostly known to be so. */
static void test_places(void)
{
	struct ow_codeplaces *p = ow_codeplaces_create();
	const int nr = 1000;
	uint64_t at;
	int i, wrong = 0;

	CHECK(p && !has(p, HERE, LARGE / 64));
	for (i = 0; i < nr; i++) {
		at = HERE + (uint64_t)i * LARGE;
		ow_codeplaces_add(p, at + 1, at + 20 * PLACE);
		CHECK(has(p, at, 1) && has(p, at + 19 * PLACE, PLACE * 2));
		CHECK(has(p, at - 20 * PLACE, 30 * PLACE));
	}
	for (i = 0; i < nr; i++)
		wrong += has(p, HERE + (uint64_t)i * LARGE - 20 * PLACE,
			     20 * PLACE);
	CHECK(wrong < nr / 20);
	CHECK(!ow_codeplaces_has(p, HERE + 1, HERE + 1));
	CHECK(!ow_codeplaces_is_crowded(p));
	free(p);
}

/* Ranges that are large; and a place that is too large to be looked for. */
static void test_large(void)
{
	struct ow_codeplaces *p = ow_codeplaces_create();

	ow_codeplaces_add(p, HERE, HERE + LARGE);
	CHECK(has(p, HERE + LARGE / 2, 1));
	CHECK(!has(p, HERE - PLACE * 1024, 1) && !has(p, HERE + LARGE, 1));
	CHECK(has(p, HERE / 2, LARGE)); /* it isn't looked for */
	ow_codeplaces_add(p, HERE, HERE + HUGE);
	CHECK(has(p, HERE + HUGE - 1, 1) && has(p, HERE + HUGE - 1, PLACE));
	CHECK(!has(p, HERE / 2, 1) && !has(p, HERE + HUGE, 1));
	ow_codeplaces_clear(p);
	CHECK(!has(p, HERE, 1));
	ow_codeplaces_add(p, HERE, UINT64_MAX);
	CHECK(has(p, UINT64_MAX - 2, 1) && !has(p, HERE / 2, 1));
	ow_codeplaces_add(p, 0, UINT64_MAX);
	CHECK(has(p, 0, 1) && has(p, HERE / 2, 1));
	ow_codeplaces_add(NULL, HERE, HERE + LARGE);
	CHECK(has(NULL, HERE, 1));
	free(p);
}

/* Any range is known to its first and last 64 KiB, and takes few bits. */
static void test_ends(void)
{
	struct ow_codeplaces *p = ow_codeplaces_create();
	uint64_t start, size;
	int i, wrong = 0;

	for (i = 0; i < 40; i++) {
		start = HERE + (uint64_t)(7 * i + 1) * PLACE;
		size = ((uint64_t)1 << i) * PLACE / 3 + 1;
		ow_codeplaces_clear(p);
		ow_codeplaces_add(p, start, start + size);
		CHECK(p->nr <= 3 * 6 * 20);
		CHECK(has(p, start, 1) && has(p, start + size - 1, 1));
		CHECK(has(p, start + size / 2, 1));
		wrong += has(p, start - 1, 1);
		wrong += has(p, start + size - 1 + PLACE, 1);
	}
	CHECK(wrong < 3);
	free(p);
}

/* What is gone is left out when many places were added; but seldom if that takes long. */
static void test_crowded(void)
{
	struct ow_codeplaces *p = ow_codeplaces_create();
	uint64_t at = HERE;

	for (; at < HERE + 2 * LARGE; at += 2 * PLACE)
		ow_codeplaces_add(p, at, at + 1);
	CHECK(ow_codeplaces_is_crowded(p));
	p->took = UINT64_MAX / 32;
	CHECK(!ow_codeplaces_is_crowded(p));
	ow_codeplaces_keep(p);
	CHECK(p->kept == p->nr && !ow_codeplaces_is_crowded(p));
	free(p);
}

/* An image of which nothing is known has code in no place. */
static void test_image(void)
{
	struct ow_codeplaces *p = ow_codeplaces_create();
	struct ow_bpf_range ranges[] = { { .start = HERE, .end = HERE + PLACE },
					 { .start = HERE + LARGE,
					   .end = HERE + LARGE + PLACE } };
	struct ow_bpf_range all = { .end = UINT64_MAX,
				    .mapped = OW_BPF_NO_ROOM };
	const struct ow_image image = { .ranges = ranges, .nr = 2 };
	const struct ow_image full = { .ranges = &all, .nr = 1 };

	ow_codeplaces_add_image(p, &full);
	CHECK(!has(p, HERE, 1));
	ow_codeplaces_add_image(p, &image);
	CHECK(has(p, HERE, 1) && has(p, HERE + LARGE, 1));
	CHECK(!has(p, HERE + LARGE / 2, 1));
	free(p);
}

int main(void)
{
	static const struct test tests[] = {
		{ "places", test_places },
		{ "large ranges", test_large },
		{ "ends of ranges", test_ends },
		{ "many places", test_crowded },
		{ "images", test_image },
	};

	return test_main(tests, OW_ARRAY_SIZE(tests));
}
