// SPDX-License-Identifier: BSD-2-Clause
#include "images.h"

#include <sys/mman.h>
#include <unistd.h>

#include "test.h"

#define PARENT 1000000001 /* processes that there are none of */
#define CHILD  1000000002
#define HERE   ((uint64_t)1 << 40)
#define THERE  ((uint64_t)1 << 41)
#define SIZE   4096

/* Code of no file, so that nothing is opened for it. */
static const struct ow_mapping *code(uint64_t start)
{
	static struct ow_mapping map;

	map = (struct ow_mapping){ .start = start,
				   .end = start + SIZE,
				   .executable = true,
				   .path = "" };
	return &map;
}

/* Has the process had code there at that time? */
static bool had(const struct ow_images *im, pid_t pid, uint64_t time,
		uint64_t addr)
{
	const struct ow_image *image = ow_images_at(im, pid, time);

	return image && ow_image_range(image, addr);
}

static void test_each_time_has_its_image(void)
{
	struct ow_images im = { 0 };

	CHECK(!ow_images_at(&im, PARENT, 5));
	CHECK(ow_images_exec(&im, PARENT, 10));
	CHECK(ow_images_map(&im, PARENT, 20, code(HERE)));
	CHECK(ow_images_exec(&im, PARENT, 30));
	CHECK(ow_images_map(&im, PARENT, 40, code(THERE)));
	CHECK(!had(&im, PARENT, 19, HERE) && had(&im, PARENT, 20, HERE));
	CHECK(had(&im, PARENT, 29, HERE) && !had(&im, PARENT, 30, HERE));
	CHECK(!had(&im, PARENT, 39, THERE) && had(&im, PARENT, 40, THERE));
	CHECK(!had(&im, PARENT, 99, HERE) && had(&im, PARENT, 99, THERE));
	CHECK(ow_images_as_of(&im, PARENT) == 40);
	ow_images_deinit(&im);
}

static void test_child_has_what_its_parent_had(void)
{
	struct ow_images im = { 0 };

	ow_images_map(&im, PARENT, 10, code(HERE));
	ow_images_exec(&im, PARENT, 50);
	ow_images_fork(&im, PARENT, CHILD, 20);
	CHECK(had(&im, CHILD, 20, HERE) && !had(&im, PARENT, 50, HERE));
	CHECK(ow_images_as_of(&im, CHILD) == 20);
	/* Older than what is known of the parent, but of the child it is news. */
	CHECK(ow_images_map(&im, CHILD, 30, code(THERE)));
	CHECK(had(&im, CHILD, 30, THERE) && !had(&im, CHILD, 29, THERE));
	ow_images_deinit(&im);
}

static void test_ends(void)
{
	struct ow_images im = { 0 };

	ow_images_map(&im, PARENT, 10, code(HERE));
	ow_images_fork(&im, PARENT, CHILD, 20);
	CHECK(ow_images_lives(&im, CHILD) && !ow_images_lives(&im, 3));
	ow_images_end(&im, CHILD, 20); /* another one, of the same number */
	CHECK(ow_images_lives(&im, CHILD));
	ow_images_end(&im, CHILD, 30);
	CHECK(!ow_images_lives(&im, CHILD) && ow_images_lives(&im, PARENT));
	CHECK(had(&im, CHILD, 25, HERE));
	ow_images_deinit(&im);
}

/* What is told later than the process was looked at was so before that. */
static void test_look_is_not_undone(void)
{
	struct ow_images im = { 0 };
	struct ow_sampledobjects objects;
	uint64_t looked;
	bool is_new;

	CHECK(ow_sampledobjects_init(&objects, 0, NULL) == 0);
	im.objects = &objects;
	ow_images_map(&im, PARENT, 1, code(HERE));
	ow_images_map(&im, getpid(), 10, code(HERE));
	CHECK(ow_images_look(&im, getpid(), &is_new) && is_new);
	looked = ow_images_as_of(&im, getpid());
	CHECK(!had(&im, getpid(), looked * 2, HERE));
	CHECK(!ow_images_map(&im, getpid(), 30, code(THERE)));
	CHECK(!ow_images_map(&im, getpid(), 40, code(THERE)));
	CHECK(!ow_images_exec(&im, getpid(), 50));
	CHECK(ow_images_as_of(&im, getpid()) == looked);
	CHECK(had(&im, getpid(), 10, HERE) && !had(&im, getpid(), 29, THERE));
	CHECK(had(&im, getpid(), 30, THERE) && had(&im, getpid(), 49, HERE));
	CHECK(!had(&im, getpid(), 50, HERE) && !had(&im, getpid(), 60, THERE));
	CHECK(!had(&im, getpid(), looked * 2, THERE));
	CHECK(had(&im, getpid(), looked * 2,
		  (uint64_t)(uintptr_t)test_look_is_not_undone));
	/* Nor is it what its parent has. */
	ow_images_fork(&im, PARENT, getpid(), 20);
	CHECK(!had(&im, getpid(), looked * 2, HERE));
	ow_images_deinit(&im);
	ow_sampledobjects_deinit(&objects);
}

/* Code of no file that this process has mapped itself. */
static uint64_t map_code(void)
{
	return (uint64_t)(uintptr_t)mmap(NULL, SIZE, PROT_READ | PROT_EXEC,
					 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

static bool begin(struct ow_images *im, struct ow_sampledobjects *objects)
{
	*im = (struct ow_images){ .objects = objects };
	return ow_sampledobjects_init(objects, 0, NULL) == 0;
}

static void end(struct ow_images *im)
{
	struct ow_sampledobjects *objects = im->objects;

	ow_images_deinit(im);
	ow_sampledobjects_deinit(objects);
}

/* What is mapped while a look is taken was there before that is over. */
static void test_change_during_a_look(void)
{
	uint64_t here = map_code(), t, own = (uint64_t)(uintptr_t)map_code;
	struct ow_sampledobjects objects;
	struct ow_images im;
	bool is_new;

	CHECK(begin(&im, &objects));
	ow_images_map(&im, getpid(), 10, code(THERE));
	CHECK(ow_images_look(&im, getpid(), &is_new) && is_new);
	t = ow_images_as_of(&im, getpid());
	CHECK(ow_images_of(&im, getpid())->since > t + 3);
	/* Seen by the look. */
	CHECK(ow_images_map(&im, getpid(), t + 1, code(here)));
	CHECK(!had(&im, getpid(), t, here) && had(&im, getpid(), t + 1, here));
	CHECK(had(&im, getpid(), t + 1, THERE));
	CHECK(ow_images_as_of(&im, getpid()) == t + 1);
	/* And after it. */
	CHECK(ow_images_map(&im, getpid(), t + 3, code(HERE)));
	CHECK(!had(&im, getpid(), t + 2, HERE));
	CHECK(had(&im, getpid(), t + 3, HERE) &&
	      had(&im, getpid(), t + 3, here));
	CHECK(!had(&im, getpid(), t + 3, own) &&
	      had(&im, getpid(), 2 * t, own));
	CHECK(had(&im, getpid(), 2 * t, here) &&
	      had(&im, getpid(), 2 * t, HERE));
	CHECK(!had(&im, getpid(), 2 * t, THERE));
	CHECK(ow_images_as_of(&im, getpid()) == t + 3);
	end(&im);
	munmap((void *)(uintptr_t)here, SIZE);
}

/* What came and went before a look that finds nothing new was there meanwhile. */
static void test_change_and_back_before_a_look(void)
{
	uint64_t here = map_code(), first, t;
	struct ow_sampledobjects objects;
	struct ow_images im;
	bool is_new;

	CHECK(begin(&im, &objects));
	CHECK(ow_images_look(&im, getpid(), &is_new) && is_new);
	first = ow_images_as_of(&im, getpid());
	CHECK(ow_images_look(&im, getpid(), &is_new) && !is_new);
	t = ow_images_as_of(&im, getpid());
	CHECK(t > first + 4);
	/* Who has the process' image is told of the one that is its equal. */
	CHECK(ow_images_exec(&im, getpid(), t - 4));
	CHECK(!ow_images_map(&im, getpid(), t - 2, code(HERE)));
	CHECK(!ow_images_map(&im, getpid(), t - 1, code(here)));
	CHECK(had(&im, getpid(), t - 5, here) &&
	      !had(&im, getpid(), t - 4, here));
	CHECK(!had(&im, getpid(), t - 3, HERE) &&
	      had(&im, getpid(), t - 2, HERE));
	CHECK(!had(&im, getpid(), t - 2, here) &&
	      had(&im, getpid(), t - 1, here));
	CHECK(had(&im, getpid(), 2 * t, here) &&
	      !had(&im, getpid(), 2 * t, HERE));
	CHECK(ow_images_as_of(&im, getpid()) == t);
	/* What was there already is no news. */
	CHECK(ow_images_map(&im, getpid(), 2 * t, code(here)));
	CHECK(ow_images_as_of(&im, getpid()) == 2 * t);
	end(&im);
	munmap((void *)(uintptr_t)here, SIZE);
}

/* Its number is another process' now, which has mapped the same. */
static void test_look_at_who_has_ended(void)
{
	struct ow_sampledobjects objects;
	struct ow_images im;
	bool is_new;

	CHECK(begin(&im, &objects));
	CHECK(ow_images_look(&im, getpid(), &is_new) && is_new);
	ow_images_end(&im, getpid(), 2 * ow_images_as_of(&im, getpid()));
	CHECK(!ow_images_lives(&im, getpid()));
	CHECK(ow_images_look(&im, getpid(), &is_new) && is_new);
	CHECK(ow_images_lives(&im, getpid()));
	CHECK(ow_images_of(&im, getpid())->users == 1);
	end(&im);
}

int main(void)
{
	static const struct test tests[] = {
		{ "each time has its image", test_each_time_has_its_image },
		{ "a child has what its parent had",
		  test_child_has_what_its_parent_had },
		{ "ends", test_ends },
		{ "a look is not undone", test_look_is_not_undone },
		{ "a change during a look", test_change_during_a_look },
		{ "a change and back, before a look",
		  test_change_and_back_before_a_look },
		{ "a look at who has ended", test_look_at_who_has_ended },
	};

	return test_main(tests, sizeof(tests) / sizeof(tests[0]));
}
