// SPDX-License-Identifier: BSD-2-Clause
#include "perfmoves.h"

#include <stdlib.h>
#include <sys/mman.h>

#include "imagekin.h"
#include "test.h"

#define PARENT 1000000001 /* processes that there are none of, */
#define CHILD  1000000002 /* so that all may share their memory */
#define HERE   ((uint64_t)1 << 40)
#define THERE  ((uint64_t)1 << 41)
#define SIZE   4096
#define SEC    1000000000ULL

/* A call of mremap(2) as a kprobe tells of it: dx, si, di, r8, r10. */
struct record {
	struct perf_event_header header;
	uint32_t pid, tid;
	uint64_t time, abi, size, old_size, from, to, flags;
};

static void take_move(struct ow_images *im, pid_t pid, uint64_t time,
		      uint64_t from)
{
	const struct record r = {
		.header = { .type = PERF_RECORD_SAMPLE, .size = sizeof(r) },
		.pid = (uint32_t)pid,
		.tid = (uint32_t)pid,
		.time = time,
		.abi = PERF_SAMPLE_REGS_ABI_64,
		.size = SIZE,
		.old_size = SIZE,
		.from = from,
		.to = THERE,
		.flags = MREMAP_MAYMOVE | MREMAP_FIXED,
	};
	struct ow_perfmoves m = { .is_open = true };

	ow_perfmoves_begin(&m);
	ow_perfmoves_take(&m, im, &r.header);
}

static void begin(struct ow_images *im, int nr_children)
{
	static struct ow_mapping code = { .start = HERE,
					  .end = HERE + SIZE,
					  .executable = true,
					  .path = "" };
	int i;

	*im = (struct ow_images){ .has_kin = true };
	CHECK(ow_images_exec(im, PARENT, SEC * 10));
	CHECK(ow_images_map(im, PARENT, SEC * 20, &code));
	for (i = 0; i < nr_children; i++)
		CHECK(ow_images_fork(im, PARENT, CHILD + i, SEC * 30));
}

static int nr_moved(const struct ow_images *im, int nr_children)
{
	int i, nr = 0;

	for (i = -1; i < nr_children; i++)
		nr += ow_perfmoves_has_moved(im, ow_images_user(im, CHILD + i));
	return nr;
}

/* What one of them moves, it moves for all, however many they are. */
static void test_kin(void)
{
	static const int sizes[] = { 0, 1, 62, 63, 64, 200 };
	struct ow_images im;
	size_t i;

	for (i = 0; i < OW_ARRAY_SIZE(sizes); i++) {
		begin(&im, sizes[i]);
		CHECK(nr_moved(&im, sizes[i]) == 0);
		take_move(&im, CHILD + sizes[i] - 1, SEC * 40, HERE);
		CHECK(nr_moved(&im, sizes[i]) == sizes[i] + 1);
		ow_images_deinit(&im);
	}
}

/* A move of data concerns nobody, unless they are too many to look at. */
static void test_data(void)
{
	struct ow_images im;

	begin(&im, 62);
	take_move(&im, PARENT, SEC * 40, HERE / 2);
	CHECK(nr_moved(&im, 62) == 0);
	ow_images_deinit(&im);
	begin(&im, 64);
	take_move(&im, PARENT, SEC * 40, HERE / 2);
	CHECK(nr_moved(&im, 64) == 65);
	ow_images_deinit(&im);
}

/* What executes a program has moved nothing of that; the others go on. */
static void test_exec(void)
{
	struct ow_images im;

	begin(&im, 2);
	CHECK(ow_images_exec(&im, CHILD, SEC * 40));
	take_move(&im, PARENT, SEC * 50, HERE);
	CHECK(!ow_perfmoves_has_moved(&im, ow_images_user(&im, CHILD)));
	CHECK(ow_perfmoves_has_moved(&im, ow_images_user(&im, CHILD + 1)));
	ow_images_end(&im, PARENT, SEC * 60);
	ow_images_end(&im, CHILD + 1, SEC * 60);
	ow_images_deinit(&im);
}

int main(void)
{
	static const struct test tests[] = {
		{ "all that share a memory", test_kin },
		{ "data", test_data },
		{ "who executes a program", test_exec },
	};

	return test_main(tests, OW_ARRAY_SIZE(tests));
}
