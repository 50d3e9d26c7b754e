// SPDX-License-Identifier: BSD-2-Clause
#include "oldimages.h"

#include <stdlib.h>

#include "test.h"

#define PID   1000000001 /* a process that there is none of */
#define OTHER 1000000002
#define NR    5
#define EVER  UINT64_MAX

static uint64_t start_of(unsigned int i)
{
	return 0x10000 * (uint64_t)(i + 1);
}

/* One with ranges of 0x1000 bytes, that a process has, or none if pid is 0. */
static uint32_t add_image(struct ow_images *im, pid_t pid)
{
	struct ow_bpf_range *list = calloc(NR, sizeof(*list));
	struct ow_image *image;
	unsigned int i;

	for (i = 0; i < NR; i++)
		list[i] = (struct ow_bpf_range){ .start = start_of(i),
						 .end = start_of(i) + 0x1000,
						 .object = i + 1 };
	image = ow_images_add(im, PID, list, NR, 0, 0);
	if (pid)
		ow_images_give(im, pid, image, 1);
	return image->id;
}

/* A stack of the image, with one frame in the kernel. */
static void add_stack(struct ow_samplestore *store, uint32_t image, uint64_t pc,
		      uint64_t caller)
{
	const uint64_t frames[] = {
		start_of(3),
		OW_SAMPLE_FRAME(pc, OW_HOW_REGS, 0),
		OW_SAMPLE_FRAME(caller, OW_HOW_CFI, OW_FRAME_RETURN),
	};
	const struct ow_bpf_stack head = {
		.key = { .hash = pc ^ caller, .pid = PID, .image = image },
		.nr_kernel = 1,
		.nr = 2,
	};

	CHECK(ow_samplestore_add(store, &head, frames, 1));
}

/* Which of its ranges an image has, a bit each. */
static unsigned int ranges_of(const struct ow_images *im, uint32_t id)
{
	const struct ow_image *image = ow_images_get(im, id);
	const struct ow_bpf_range *r;
	unsigned int i, has = 0;

	for (i = 0; i < NR; i++) {
		r = ow_image_range(image, start_of(i) + 0xfff);
		if (r && r->object == i + 1)
			has |= 1U << i;
	}
	return has;
}

struct forgotten {
	uint32_t ids[8];
	size_t nr;
};

static void forget(void *arg, uint32_t id)
{
	struct forgotten *f = arg;

	if (f->nr < OW_ARRAY_SIZE(f->ids))
		f->ids[f->nr++] = id;
}

static void test_keeps_what_stacks_have(void)
{
	struct ow_samplestore store = { 0 };
	struct ow_images im = { 0 };
	struct forgotten f = { 0 };
	uint32_t past = add_image(&im, PID), unused = add_image(&im, 0);
	uint32_t now = add_image(&im, PID), others = add_image(&im, OTHER);

	add_stack(&store, past, start_of(1), start_of(4) + 8);
	/* Behind a call at a range's end: it returns to where nothing is. */
	add_stack(&store, past, start_of(1) + 4, start_of(2) + 0x1000);
	add_stack(&store, now, start_of(0), start_of(0) + 8);
	/* Nothing is mapped there, and of who nobody knows. */
	add_stack(&store, past, start_of(0) + 0x2000, 0);
	add_stack(&store, 99, start_of(0), start_of(0));
	CHECK(im.nr_ranges == 4 * NR);
	CHECK(ow_oldimages_free(&im, &store, EVER, forget, &f));
	CHECK(ranges_of(&im, past) == 0x16 && ranges_of(&im, unused) == 0);
	CHECK(ranges_of(&im, now) == 0x1f && ranges_of(&im, others) == 0x1f);
	CHECK(f.nr == 2 && f.ids[0] == past && f.ids[1] == unused);
	CHECK(im.nr_ranges == 2 * NR + 3);
	/* What is kept is kept for good. */
	CHECK(ow_oldimages_free(&im, &store, EVER, forget, &f));
	CHECK(ranges_of(&im, past) == 0x16 && im.nr_ranges == 2 * NR + 3);
	CHECK(f.nr == 3 && f.ids[2] == past);
	ow_samplestore_deinit(&store);
	ow_images_deinit(&im);
}

/* Samples of who has had it a moment ago may be on their way. */
static void test_keeps_what_is_new(void)
{
	struct ow_samplestore store = { 0 };
	struct ow_images im = { 0 };
	struct forgotten f = { 0 };
	uint32_t past = add_image(&im, PID), unused = add_image(&im, 0);
	uint64_t since = ow_images_get(&im, unused)->idle_since;

	add_image(&im, PID);
	CHECK(since && ow_images_get(&im, past)->idle_since >= since);
	CHECK(ow_oldimages_free(&im, &store, since, forget, &f));
	CHECK(f.nr == 0 && im.nr_ranges == 3 * NR);
	CHECK(ranges_of(&im, past) == 0x1f && ranges_of(&im, unused) == 0x1f);
	ow_images_deinit(&im);
}

int main(void)
{
	static const struct test tests[] = {
		{ "old images keep what stacks have frames in",
		  test_keeps_what_stacks_have },
		{ "new ones keep all", test_keeps_what_is_new },
	};

	return test_main(tests, OW_ARRAY_SIZE(tests));
}
