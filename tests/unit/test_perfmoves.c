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

static void read_move(struct ow_perfmoves *m, struct ow_images *im, pid_t pid,
		      uint64_t time, uint64_t from)
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

	ow_perfmoves_take(m, im, &r.header);
}

/* Of a reading of its own. */
static void take_move(struct ow_images *im, pid_t pid, uint64_t time,
		      uint64_t from)
{
	struct ow_perfmoves m = { .is_open = true };

	ow_perfmoves_begin(&m);
	read_move(&m, im, pid, time, from);
	CHECK(m.nr_lost == 0);
	ow_imagekin_settle(im);
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
	ow_imagekin_settle(&im);
	take_move(&im, PARENT, SEC * 40, HERE / 2);
	CHECK(nr_moved(&im, 64) == 65);
	ow_images_deinit(&im);
}

/* Processes that are made and move data by turns, in one reading, are no work. */
static void test_turns(void)
{
	struct ow_perfmoves m = { .is_open = true };
	const int nr = 300;
	struct ow_images im;
	int i;

	begin(&im, 0);
	ow_perfmoves_begin(&m);
	m.work = 65536;
	for (i = 0; i < nr; i++) {
		CHECK(ow_images_fork(&im, PARENT, CHILD + i, SEC * 30 + i));
		read_move(&m, &im, CHILD + i, SEC * 30 + i, HERE / 2);
	}
	CHECK(m.nr_lost == 0);
	CHECK(im.nr_forks == (size_t)nr); /* nor is anything asked for that */
	ow_imagekin_settle(&im);
	CHECK(nr_moved(&im, nr) == 0);
	ow_images_deinit(&im);
}

/* A child that has moved code, and ended before it could be asked about. */
static void test_ended(void)
{
	struct ow_images im;

	begin(&im, 1);
	ow_imagekin_settle(&im);
	CHECK(ow_images_fork(&im, PARENT, CHILD + 1, SEC * 31));
	CHECK(ow_images_end(&im, CHILD + 1, SEC * 32));
	take_move(&im, CHILD + 1, SEC * 31 + 1, HERE);
	CHECK(nr_moved(&im, 2) == 3);
	ow_images_deinit(&im);
}

/* A reading that comes late has as much more work to do. */
static void test_late(void)
{
	struct ow_perfmoves m = { .is_open = true };
	unsigned int least;

	ow_perfmoves_begin(&m);
	ow_perfmoves_begin(&m);
	least = m.work;
	m.begun -= SEC / 2;
	ow_perfmoves_begin(&m);
	CHECK(m.work >= 5 * least && m.work < 7 * least);
	m.begun -= SEC * 100;
	ow_perfmoves_begin(&m);
	CHECK(m.work == 16 * least);
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

/* Calls were lost, of which nobody knows whose they were. */
static void lose_calls(struct ow_images *im, uint64_t time)
{
	const struct record r = {
		.header = { .type = PERF_RECORD_LOST, .size = sizeof(r) },
		.time = 1,
		.flags = time,
	};
	struct ow_perfmoves m = { .is_open = true };

	ow_perfmoves_begin(&m);
	ow_perfmoves_take(&m, im, &r.header);
}

static struct ow_image_calls *count_calls(struct ow_images *im, pid_t pid,
					  uint64_t since)
{
	struct ow_image_calls *calls = calloc(1, sizeof(*calls));

	*calls = (struct ow_image_calls){ 0, since, since };
	ow_imagekin_count(ow_images_user(im, pid), calls);
	return calls;
}

static bool has_moved(const struct ow_images *im, pid_t pid)
{
	return ow_perfmoves_has_moved(im, ow_images_user(im, pid));
}

/* Who has moved code, was looked at since, and whose calls are counted or not. */
static void begin_lost(struct ow_images *im, int nr_children)
{
	int i;

	begin(im, nr_children);
	take_move(im, PARENT, SEC * 40, HERE);
	for (i = -1; i < nr_children; i++)
		ow_images_user(im, CHILD + i)->checked = SEC * 50;
	CHECK(nr_moved(im, nr_children) == 0);
	lose_calls(im, SEC * 60);
}

/* Where calls were lost, a process without calls has moved nothing. */
static void test_lost(void)
{
	struct ow_image_calls *calls;
	struct ow_images im;

	begin_lost(&im, 0);
	CHECK(has_moved(&im, PARENT));
	calls = count_calls(&im, PARENT, SEC * 45);
	CHECK(!has_moved(&im, PARENT));
	calls->until = SEC * 55;
	CHECK(has_moved(&im, PARENT));
	ow_images_user(&im, PARENT)->checked = SEC * 56;
	CHECK(!has_moved(&im, PARENT));
	calls->until = UINT64_MAX; /* counted no more */
	CHECK(has_moved(&im, PARENT));
	ow_images_deinit(&im);
}

/* Who shares the memory must have made none, either. */
static void test_lost_kin(void)
{
	struct ow_image_calls *calls;
	struct ow_images im;

	begin_lost(&im, 1);
	count_calls(&im, PARENT, SEC * 45);
	CHECK(nr_moved(&im, 1) == 2);
	calls = count_calls(&im, CHILD, SEC * 46);
	CHECK(nr_moved(&im, 1) == 0);
	calls->until = SEC * 55;
	CHECK(nr_moved(&im, 1) == 2);
	ow_images_end(&im, CHILD, SEC * 70);
	CHECK(has_moved(&im, PARENT));
	ow_images_settle(&im, SEC * 80); /* it is forgotten, but what it did */
	CHECK(!ow_images_user(&im, CHILD));
	CHECK(has_moved(&im, PARENT));
	ow_images_user(&im, PARENT)->checked = SEC * 75;
	CHECK(!has_moved(&im, PARENT));
	ow_images_deinit(&im);
}

/* Calls of a child that shares the memory are counted with its parent's. */
static void test_lost_children(void)
{
	struct ow_image_calls *calls;
	struct ow_images im;

	begin_lost(&im, 0);
	calls = count_calls(&im, PARENT, SEC * 46);
	CHECK(ow_images_fork(&im, PARENT, CHILD, SEC * 47));
	ow_imagekin_settle(&im);
	CHECK(!has_moved(&im, PARENT));
	CHECK(ow_images_fork(&im, CHILD, CHILD + 1, SEC * 48));
	ow_imagekin_settle(&im);
	CHECK(!has_moved(&im, PARENT));
	calls->until = SEC * 55;
	CHECK(has_moved(&im, PARENT));
	calls->until = SEC * 46;
	/* This one was made before. */
	CHECK(ow_images_fork(&im, PARENT, CHILD + 2, SEC * 45));
	ow_imagekin_settle(&im);
	CHECK(has_moved(&im, PARENT));
	ow_images_deinit(&im);
}

/* A process that isn't known has moved code: it may do so again. */
static void test_lost_stranger(void)
{
	struct ow_images im;

	begin_lost(&im, 1);
	count_calls(&im, PARENT, SEC * 45);
	count_calls(&im, CHILD, SEC * 45);
	CHECK(nr_moved(&im, 1) == 0);
	ow_imagekin_note_stranger(ow_images_user(&im, CHILD));
	CHECK(nr_moved(&im, 1) == 2);
	ow_images_end(&im, CHILD, SEC * 48);
	ow_images_settle(&im, SEC * 49);
	CHECK(has_moved(&im, PARENT));
	CHECK(ow_images_exec(&im, PARENT, SEC * 49));
	CHECK(!ow_images_user(&im, PARENT)->calls);
	CHECK(!ow_images_user(&im, PARENT)->has_strangers);
	ow_images_deinit(&im);
}

/* A look that shows other code, while calls were lost, has shown a move. */
static void test_untold(void)
{
	struct ow_image_user *user;
	struct ow_images im;

	begin(&im, 0);
	user = ow_images_user(&im, PARENT);
	user->checked = SEC * 50;
	ow_perfmoves_note_untold(&im, user);
	CHECK(!ow_imagekin_moved(user));
	lose_calls(&im, SEC * 60);
	CHECK(!has_moved(&im, PARENT));
	ow_perfmoves_note_untold(&im, user);
	CHECK(has_moved(&im, PARENT));
	user->checked = SEC * 70;
	CHECK(!has_moved(&im, PARENT));
	ow_images_deinit(&im);
}

int main(void)
{
	static const struct test tests[] = {
		{ "all that share a memory", test_kin },
		{ "data", test_data },
		{ "forks and moves by turns", test_turns },
		{ "a child that has ended", test_ended },
		{ "a late reading", test_late },
		{ "who executes a program", test_exec },
		{ "calls that were lost", test_lost },
		{ "calls that were lost, and kin", test_lost_kin },
		{ "calls that were lost, and children", test_lost_children },
		{ "calls that were lost, and a stranger", test_lost_stranger },
		{ "calls that were lost, and a look", test_untold },
	};

	return test_main(tests, OW_ARRAY_SIZE(tests));
}
