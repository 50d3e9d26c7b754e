// SPDX-License-Identifier: BSD-2-Clause
/* Looks that a user's processes get, and whose they don't take. */
#include "imageshares.h"

#include <outwind/outwind.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "monotonic.h"
#include "sampledobjects.h"
#include "subuid.h"
#include "test.h"

#define SOMEONE 65534
#define OTHER   65533
#define MANY    1000000 /* mappings: half a minute's */
#define SECOND  1000000000ULL

static void test_users(void)
{
	struct ow_images im = { 0 };
	uid_t uid = 1000;
	int nr = 0;

	CHECK(ow_imageshares_may_look(&im, SOMEONE));
	ow_imageshares_looked(&im, SOMEONE, MANY);
	CHECK(!ow_imageshares_may_look(&im, SOMEONE));
	CHECK(ow_imageshares_may_look(&im, 0));
	ow_imageshares_looked(&im, 0, MANY);
	CHECK(ow_imageshares_may_look(&im, 0));
	ow_imageshares_deinit(&im);

	/* One user leaves something to others; many leave nothing but to root. */
	im = (struct ow_images){ 0 };
	while (ow_imageshares_may_look(&im, SOMEONE))
		ow_imageshares_looked(&im, SOMEONE, MANY / 100);
	CHECK(ow_imageshares_may_look(&im, OTHER));
	for (; ow_imageshares_may_look(&im, uid) && nr < 100; uid++, nr++)
		ow_imageshares_looked(&im, uid, MANY / 10);
	CHECK(nr > 0 && nr < 100);
	CHECK(!ow_imageshares_may_look(&im, OTHER));
	CHECK(ow_imageshares_may_look(&im, 0));
	ow_imageshares_deinit(&im);
}

/* Stacks that wait for long are walked, but for a user who takes more than half. */
static void test_walks(void)
{
	struct ow_images im = { 0 };
	uint64_t now = ow_now_ns(), before = now - 1000000000;

	CHECK(ow_imageshares_may_walk(&im, SOMEONE, before));
	ow_imageshares_walked(&im, SOMEONE, before, 200000000);
	CHECK(ow_imageshares_may_walk(&im, SOMEONE, before));
	ow_imageshares_walked(&im, SOMEONE, before, 200000000);
	CHECK(!ow_imageshares_may_walk(&im, SOMEONE, before));
	CHECK(ow_imageshares_may_walk(&im, SOMEONE, now + 1000000000));
	CHECK(ow_imageshares_may_walk(&im, OTHER, before));
	ow_imageshares_walked(&im, 0, before, 1000000000);
	CHECK(ow_imageshares_may_walk(&im, 0, before));
	ow_imageshares_deinit(&im);
}

/* Let many users look as often as they may; return how long they look. */
static uint64_t look_all(struct ow_images *im, uid_t first, uid_t nr)
{
	uint64_t ns, sum = 0;
	bool any = true;
	uid_t uid;

	for (int i = 0; i < 1000 && any; i++) {
		any = false;
		for (uid = first; uid < first + nr; uid++) {
			if (!ow_imageshares_may_look(im, uid))
				continue;
			ns = ow_imageshares_look_ns(im, uid, SECOND);
			ow_imageshares_spent(im, uid, ns);
			sum += ns;
			any = true;
		}
	}
	return sum;
}

/* Users look for no longer together than one alone, and leave others time. */
static void test_many(void)
{
	struct ow_images im = { 0 };
	uint64_t ns;

	ns = look_all(&im, SOMEONE, 1);
	CHECK(ns >= 2 * SECOND && ns <= 3 * SECOND);
	CHECK(ow_imageshares_may_look(&im, OTHER));
	ow_imageshares_deinit(&im);

	im = (struct ow_images){ 0 };
	ns = look_all(&im, 1000, 12);
	CHECK(ns <= 5 * SECOND);
	CHECK(ow_imageshares_may_look(&im, 0));
	CHECK(ow_imageshares_look_ns(&im, 0, SECOND) == SECOND);
	ow_imageshares_deinit(&im);
}

/* A user has what is left of its share; a look that needs more waits for that. */
static void test_needs(void)
{
	struct ow_images im = { 0 };

	CHECK(ow_imageshares_may_look_for(&im, SOMEONE, 100 * SECOND));
	ow_imageshares_spent(&im, SOMEONE, 3 * SECOND / 2);
	CHECK(ow_imageshares_look_ns(&im, SOMEONE, SECOND) > SECOND * 4 / 10);
	ow_imageshares_spent(&im, SOMEONE, 4 * SECOND / 10);
	CHECK(ow_imageshares_may_look(&im, SOMEONE));
	CHECK(ow_imageshares_may_look_for(&im, SOMEONE, SECOND / 100));
	CHECK(!ow_imageshares_may_look_for(&im, SOMEONE, SECOND / 2));
	CHECK(ow_imageshares_may_look_for(&im, 0, SECOND / 2));
	im.shares[0].spent_until[OW_IMAGE_LOOKS] -= SECOND;
	CHECK(ow_imageshares_may_look_for(&im, SOMEONE, SECOND / 2));
	CHECK(!ow_imageshares_may_look_for(&im, SOMEONE, 2 * SECOND));
	ow_imageshares_deinit(&im);
}

/* Who has taken little may look while others have taken much. */
static void test_little(void)
{
	struct ow_images im = { 0 };
	uid_t uid;

	for (uid = 1000; uid < 1012; uid++)
		ow_imageshares_spent(&im, uid, 3 * SECOND / 10);
	for (uid = 1000; uid < 1012; uid++)
		CHECK(!ow_imageshares_may_look(&im, uid));
	for (int i = 0; i < 10; i++) {
		CHECK(ow_imageshares_may_look(&im, OTHER));
		CHECK(ow_imageshares_look_ns(&im, OTHER, SECOND) == SECOND / 2);
		ow_imageshares_spent(&im, OTHER, SECOND / 1000);
	}
	ow_imageshares_deinit(&im);
}

/* Likewise walks, where they are behind. */
static void test_many_walks(void)
{
	struct ow_images im = { 0 };
	uint64_t before = ow_now_ns() - SECOND, ns = 0;
	uid_t uid;

	for (uid = 1000; uid < 1100; uid++) {
		if (!ow_imageshares_may_walk(&im, uid, before))
			continue;
		ow_imageshares_walked(&im, uid, before, SECOND / 20);
		ns += SECOND / 20;
	}
	CHECK(ns > SECOND / 2 && ns <= SECOND);
	CHECK(ow_imageshares_may_walk(&im, 0, before));
	ow_imageshares_deinit(&im);
}

/* Map code of no file at nr places; return true if it is known what is mapped then. */
static bool map_anonymous(struct ow_images *im, pid_t pid, uint64_t time,
			  uint32_t nr)
{
	struct ow_mapping map = { .executable = true, .path = "" };
	const struct ow_image *image;

	for (uint32_t i = 0; i < nr; i++) {
		map.start = (time + i) * 0x10000;
		map.end = map.start + 0x1000;
		ow_images_map(im, pid, time + i, &map);
		ow_images_tell_uid(im, pid, time + i, SOMEONE);
	}
	image = ow_images_of(im, pid);
	return image && image->nr >= nr;
}

/* Code of no file takes time as code of files does, where there is much. */
static void test_anonymous(void)
{
	struct ow_sampledobjects objects;
	struct ow_images im = { .objects = &objects };
	const pid_t many = 999999998, few = 999999999;

	CHECK(ow_sampledobjects_init(&objects, 0, NULL) == 0);
	CHECK(map_anonymous(&im, many, 1000, 500));
	ow_imageshares_spent(&im, SOMEONE, 3 * SECOND);
	CHECK(!map_anonymous(&im, many, 2000, 1));
	CHECK(map_anonymous(&im, few, 1000, 10));
	ow_images_deinit(&im);
	ow_sampledobjects_deinit(&objects);
}

/* Give a user's processes images of that many ranges until there is no room for one. */
static size_t map_all(struct ow_images *im, uid_t uid, uint32_t nr)
{
	struct ow_image *image;
	size_t all = 0;

	while (all < 10000000 && ow_imageshares_may_map(im, uid, nr)) {
		image = ow_images_add(im, 1, calloc(nr, sizeof(*image->ranges)),
				      nr);
		ow_imageshares_mapped(im, uid, image);
		all += nr;
	}
	return all;
}

/* A user's images, however small, leave room for others'. */
static void test_ranges(void)
{
	struct ow_images im = { 0 };
	size_t most = (size_t)1 << 22;

	CHECK(map_all(&im, SOMEONE, 1000) <= most / 2);
	CHECK(ow_imageshares_may_map(&im, SOMEONE, 64));
	CHECK(!ow_imageshares_may_map(&im, SOMEONE, 16000));
	CHECK(map_all(&im, OTHER, 1000) >= most / 5);
	CHECK(im.nr_ranges < most);
	CHECK(ow_imageshares_may_map(&im, 0, 16000));
	/* Where there is no room, a user who has little has some. */
	im.nr_ranges += most;
	CHECK(map_all(&im, 1000, 1000) >= 32000);
	CHECK(ow_imageshares_may_map(&im, 0, 1000));
	CHECK(!ow_imageshares_may_map(&im, 0, 2000));
	im.nr_ranges -= most;
	ow_images_thin(&im, UINT64_MAX);
	CHECK(im.nr_ranges == 0);
	CHECK(ow_imageshares_may_map(&im, SOMEONE, 1000));
	CHECK(map_all(&im, SOMEONE, 1000) > most / 3);
	ow_images_deinit(&im);
}

/* A user of whom nothing counts any more has no share. */
static void test_over(void)
{
	struct ow_images im = { 0 };
	uid_t uid;

	for (uid = 1000; uid < 2000; uid++)
		CHECK(ow_imageshares_may_look(&im, uid));
	CHECK(im.nr_shares <= 1);
	ow_imageshares_spent(&im, SOMEONE, SECOND);
	CHECK(ow_imageshares_may_look(&im, OTHER));
	CHECK(im.nr_shares == 2);
	ow_imageshares_deinit(&im);
}

/* What takes less comes back in time. */
static void test_few(void)
{
	struct ow_images im = { 0 };

	for (int i = 0; i < 100; i++) {
		CHECK(ow_imageshares_may_look(&im, SOMEONE));
		ow_imageshares_looked(&im, SOMEONE, 100);
	}
	ow_imageshares_deinit(&im);
}

static void wait_for_ever(void)
{
	for (;;)
		pause();
}

static int nr_lines(const char *want)
{
	const char *line;
	int nr = 0;

	for (size_t i = 0; (line = ow_file_lost(i)); i++)
		nr += strcmp(line, want) == 0;
	return nr;
}

/* A user whose process is not looked at now is told of, and others are looked at. */
static void test_looks(void)
{
	struct ow_sampledobjects objects;
	struct ow_images im;
	pid_t one, two;

	if (getuid() != 0)
		return;
	one = subuid_start(SOMEONE, 0, wait_for_ever);
	two = subuid_start(OTHER, 0, wait_for_ever);
	im = (struct ow_images){ .objects = &objects };
	CHECK(ow_sampledobjects_init(&objects, 0, NULL) == 0);
	CHECK(ow_images_look_again(&im, one));
	ow_imageshares_looked(&im, SOMEONE, MANY / 5);
	CHECK(!ow_images_look_again(&im, one));
	CHECK(ow_images_look_again(&im, two));
	CHECK(ow_images_user(&im, two)->look_needs);
	CHECK(ow_images_user(&im, two)->look_needs < SECOND / 2);
	ow_imageshares_spent(&im, OTHER, 19 * SECOND / 10);
	CHECK(ow_images_look_again(&im, two));
	ow_images_user(&im, two)->look_needs = SECOND / 2;
	CHECK(!ow_images_look_again(&im, two));
	CHECK(ow_images_look_again(&im, getpid()));
	CHECK(nr_lines("processes of user 65534: there was no time to look at "
		       "all that they map") == 1);
	CHECK(nr_lines("processes of user 65533: there was no time to look at "
		       "all that they map") == 1);
	ow_images_deinit(&im);
	ow_sampledobjects_deinit(&objects);
	kill(one, SIGKILL);
	kill(two, SIGKILL);
	waitpid(one, NULL, 0);
	waitpid(two, NULL, 0);
}

/* A process that goes on opening files has room for more, in time. */
static void test_files(void)
{
	struct ow_image_user long_lived = { .pid = 1 }, other = { .pid = 2 };
	struct ow_images im = { 0 };
	int nr = 0;

	for (; ow_imageshares_may_open(&im, SOMEONE, &long_lived); nr++)
		ow_imageshares_opened(&im, SOMEONE, &long_lived);
	CHECK(nr >= (int)OW_RECORD_FILES && nr < (int)OW_RECORD_FILES + 100);
	CHECK(ow_imageshares_may_open(&im, SOMEONE, &other));
	long_lived.opened_as_of -= 600000000000;
	for (nr = 0; ow_imageshares_may_open(&im, SOMEONE, &long_lived); nr++)
		ow_imageshares_opened(&im, SOMEONE, &long_lived);
	/* The user's share is what ends it now. */
	CHECK(nr >= (int)OW_RECORD_FILES - 100 && nr <= 1024 + 100);
	CHECK(!ow_imageshares_may_open(&im, SOMEONE, &other));
	CHECK(ow_imageshares_may_open(&im, OTHER, &other));
	ow_imageshares_deinit(&im);
}

/* All images are made anew: users have taken what they have taken. */
static void test_renewed(void)
{
	struct ow_images old = { 0 }, im = { 0 };

	while (ow_imageshares_may_look(&old, SOMEONE))
		ow_imageshares_looked(&old, SOMEONE, MANY / 100);
	ow_imageshares_spent(&old, OTHER, 10 * SECOND);
	old.shares[0].nr_ranges = old.shares[0].nr_opened = 1000;
	ow_images_move_shares(&im, &old);
	CHECK(!old.shares && old.nr_shares == 0);
	CHECK(im.nr_shares == 2 && im.shares[0].nr_ranges == 0 &&
	      im.shares[0].nr_opened == 0);
	CHECK(!ow_imageshares_may_look(&im, SOMEONE));
	CHECK(!ow_imageshares_may_look(&im, OTHER));
	CHECK(ow_imageshares_may_look(&im, 0));
	ow_imageshares_deinit(&im);
}

int main(void)
{
	static const struct test tests[] = {
		{ "looks", test_looks },
		{ "users", test_users },
		{ "files", test_files },
		{ "small processes", test_few },
		{ "walks", test_walks },
		{ "many users", test_many },
		{ "looks that need much", test_needs },
		{ "those who take little", test_little },
		{ "many users' walks", test_many_walks },
		{ "shares that are over", test_over },
		{ "code of no file", test_anonymous },
		{ "ranges", test_ranges },
		{ "shares when all is made anew", test_renewed },
	};

	return test_main(tests, OW_ARRAY_SIZE(tests));
}
