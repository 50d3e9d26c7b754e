// SPDX-License-Identifier: BSD-2-Clause
/* Which file systems only root can have mounted, of a list that is long. */
#include "identity.h"

#include <sched.h>
#include <stdio.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "monotonic.h"
#include "scratch.h"
#include "test.h"

#define NOWHERE makedev(0, 0xfffff)

enum {
	MOUNTS = 200,
	CALLS = 200
};

/* Have many mounts, which go with this process.  Return false if that can't be. */
static bool mount_many(void)
{
	if (geteuid() != 0 || unshare(CLONE_NEWNS) ||
	    mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL))
		return false;
	mkdir("many", 0755);
	for (int i = 0; i < MOUNTS; i++)
		if (mount("none", "many", "tmpfs", 0, NULL))
			return false;
	return true;
}

static uint64_t device(const char *path)
{
	struct stat st;

	return stat(path, &st) ? 0 : st.st_dev;
}

/* How long all of the calls take. */
static uint64_t time_of(bool (*is)(uint64_t dev), uint64_t dev, bool want)
{
	uint64_t begun = ow_now_ns();

	for (int i = 0; i < CALLS; i++)
		CHECK(is(dev) == want);
	return ow_now_ns() - begun;
}

/* What a list did not have is not looked for in each call. */
static void test_nowhere(void)
{
	uint64_t begun, once;

	mount_many();
	begun = ow_now_ns();
	CHECK(!ow_identity_is_roots(NOWHERE));
	once = ow_now_ns() - begun;
	CHECK(time_of(ow_identity_is_roots, NOWHERE, false) < CALLS * once / 2);
	CHECK(time_of(ow_identity_was_roots, NOWHERE, false) <
	      CALLS * once / 2);
}

/* Nor is what it had, if that may be gone. */
static void test_somewhere(void)
{
	uint64_t dev, begun, once;

	if (geteuid() != 0 || !ow_identity_is_roots(device("many")))
		return;
	dev = device("many");
	begun = ow_now_ns();
	CHECK(ow_identity_is_roots(dev));
	once = ow_now_ns() - begun;
	CHECK(ow_identity_was_roots(dev));
	CHECK(time_of(ow_identity_was_roots, dev, true) < CALLS * once / 2);
	CHECK(umount("many") == 0);
	CHECK(!ow_identity_is_roots(dev));
	usleep(1100000);
	CHECK(!ow_identity_was_roots(dev));
	while (umount("many") == 0)
		;
}

/* What is mounted is known a second later. */
static void test_mounted(void)
{
	if (geteuid() != 0 || mkdir("new", 0755))
		return;
	CHECK(!ow_identity_is_roots(NOWHERE));
	if (mount("none", "new", "tmpfs", 0, NULL))
		return;
	usleep(1100000);
	CHECK(ow_identity_is_roots(device("new")));
	CHECK(umount("new") == 0);
}

int main(void)
{
	static const struct test tests[] = {
		{ "no such device", test_nowhere },
		{ "a device that may be gone", test_somewhere },
		{ "a device that is new", test_mounted },
	};

	scratch_enter();
	return test_main(tests, OW_ARRAY_SIZE(tests));
}
