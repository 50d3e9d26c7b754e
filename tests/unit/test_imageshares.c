// SPDX-License-Identifier: BSD-2-Clause
/* Looks that a user's processes get, and whose they don't take. */
#include "imageshares.h"

#include <outwind/outwind.h>
#include <signal.h>
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
	ow_imageshares_walked(&im, SOMEONE, 200000000);
	CHECK(ow_imageshares_may_walk(&im, SOMEONE, before));
	ow_imageshares_walked(&im, SOMEONE, 200000000);
	CHECK(!ow_imageshares_may_walk(&im, SOMEONE, before));
	CHECK(ow_imageshares_may_walk(&im, SOMEONE, now + 1000000000));
	CHECK(ow_imageshares_may_walk(&im, OTHER, before));
	ow_imageshares_walked(&im, 0, 1000000000);
	CHECK(ow_imageshares_may_walk(&im, 0, before));
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
	CHECK(ow_images_look_again(&im, getpid()));
	CHECK(nr_lines("processes of user 65534: there was no time to look at "
		       "all that they map") == 1);
	CHECK(nr_lines("processes of user 65533: there was no time to look at "
		       "all that they map") == 0);
	ow_images_deinit(&im);
	ow_sampledobjects_deinit(&objects);
	kill(one, SIGKILL);
	kill(two, SIGKILL);
	waitpid(one, NULL, 0);
	waitpid(two, NULL, 0);
}

int main(void)
{
	static const struct test tests[] = {
		{ "looks", test_looks },
		{ "users", test_users },
		{ "small processes", test_few },
		{ "walks", test_walks },
	};

	return test_main(tests, OW_ARRAY_SIZE(tests));
}
