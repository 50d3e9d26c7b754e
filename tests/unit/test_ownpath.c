// SPDX-License-Identifier: BSD-2-Clause
#include "ownpath.h"

#include <errno.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "scratch.h"
#include "test.h"

#define OTHER 12345 /* a user */

static char here[PATH_MAX - 64];

/* What is found is that file; or errno, negated. */
static int found(const char *name, bool make)
{
	char path[PATH_MAX];
	struct stat there, got;
	int fd, same;

	snprintf(path, sizeof(path), "%s/%s", here, name);
	errno = 0;
	fd = ow_ownpath_open(path, make);
	if (fd < 0)
		return -errno;
	same = !fstat(fd, &got) && !stat(path, &there) &&
	       got.st_ino == there.st_ino && got.st_dev == there.st_dev;
	close(fd);
	return same;
}

static void test_ours(void)
{
	CHECK(scratch_run("mkdir -p a/b && touch a/b/c && ln -s b a/link && "
			  "ln -s $PWD/a/link/../b all && ln -s loop loop"));
	CHECK(found("a/b/c", false) == 1);
	CHECK(found("a//./b/", false) == 1);
	CHECK(found("a/b/../b/c", false) == 1);
	CHECK(found("a/link/c", false) == 1);
	CHECK(found("all/c", false) == 1);
	CHECK(found("a/b/d", false) == -ENOENT);
	CHECK(found("a/b/c/d", false) == -ENOTDIR);
	CHECK(found("loop", false) == -ELOOP);
	CHECK(ow_ownpath_open("a", false) == -1 && errno == EINVAL);
}

static void test_made(void)
{
	CHECK(found("new/x/y", true) == 1);
	CHECK(scratch_run(
		"test -d new/x/y && test $(stat -c %%a new/x) = 755"));
	CHECK(found("new/x/y", true) == 1);
	CHECK(scratch_run("chmod 777 new && mkdir new/x/z"));
	CHECK(found("new/w", true) == -EPERM);
	CHECK(scratch_run("test ! -e new/w"));
}

/* Writable for others, theirs, or by a link of theirs. */
static void test_others(void)
{
	CHECK(scratch_run("mkdir -p o/p && touch o/p/q && chmod 666 o/p/q"));
	CHECK(found("o/p/q", false) == -EPERM);
	CHECK(scratch_run("chmod 664 o/p/q"));
	CHECK(found("o/p/q", false) == (geteuid() ? 1 : -EPERM));
	CHECK(scratch_run("chmod 644 o/p/q"));
	CHECK(found("o/p/q", false) == 1);
	CHECK(scratch_run("chmod 757 o/p"));
	CHECK(found("o/p/q", false) == -EPERM);
	/* As /tmp is: files are their owners'. */
	CHECK(scratch_run("chmod 1777 o/p"));
	CHECK(found("o/p/q", false) == 1);
	if (geteuid())
		return;
	CHECK(chown("o/p/q", OTHER, 0) == 0);
	CHECK(found("o/p/q", false) == -EPERM);
	CHECK(chown("o/p/q", 0, OTHER) == 0);
	CHECK(found("o/p/q", false) == 1);
	CHECK(scratch_run("ln -s q o/p/link"));
	CHECK(found("o/p/link", false) == 1);
	CHECK(lchown("o/p/link", OTHER, 0) == 0);
	CHECK(found("o/p/link", false) == -EPERM);
	CHECK(scratch_run("chmod 755 o/p"));
	CHECK(chown("o/p", OTHER, 0) == 0);
	CHECK(found("o/p/q", false) == -EPERM);
	CHECK(scratch_run("ln -s o/p/q to-theirs"));
	CHECK(found("to-theirs", false) == -EPERM);
}

static bool is_own(const char *name)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/%s", here, name);
	return ow_path_is_own(path);
}

/* Files that may be opened by name: reading some of /proc never ends. */
static void test_files(void)
{
	CHECK(scratch_run("mkdir -p f && touch f/file && mkfifo f/fifo"));
	CHECK(is_own("f/file"));
	CHECK(!is_own("f/fifo") && !is_own("f") && !is_own("f/none"));
	CHECK(!ow_path_is_own("/dev/zero"));
	CHECK(!ow_path_is_own("/proc/version") &&
	      !ow_path_is_own("/proc/kmsg"));
	CHECK(!ow_path_is_own("/sys/kernel/notes"));
}

int main(void)
{
	static const struct test tests[] = {
		{ "ours", test_ours },
		{ "made", test_made },
		{ "others'", test_others },
		{ "files", test_files },
	};

	scratch_enter();
	if (!getcwd(here, sizeof(here)))
		return 1;
	return test_main(tests, sizeof(tests) / sizeof(tests[0]));
}
