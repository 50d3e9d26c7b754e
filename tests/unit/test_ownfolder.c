// SPDX-License-Identifier: BSD-2-Clause
#include "ownfolder.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "env.h"
#include "scratch.h"
#include "test.h"

#define OTHER 12345 /* a user */

/* The folder that is opened is the one that the kernel would; or errno, negated. */
static int found(const char *path)
{
	unsigned int links = 0;
	char dir[2 * PATH_MAX];
	struct stat there, got;
	int fd, is_same;

	snprintf(dir, sizeof(dir), "%s", path);
	if (strrchr(dir, '/'))
		strrchr(dir, '/')[1] = '\0';
	else
		strcpy(dir, ".");
	errno = 0;
	fd = ow_ownfolder_open(AT_FDCWD, path, &links);
	if (fd < 0)
		return -errno;
	is_same = !fstat(fd, &got) && !stat(dir, &there) &&
		  got.st_ino == there.st_ino && got.st_dev == there.st_dev;
	close(fd);
	return is_same;
}

static void test_ours(void)
{
	CHECK(scratch_run("mkdir -p a/b/c d && ln -s b a/link && "
			  "ln -s ../../d a/b/over && ln -s $PWD/a/link/.. all "
			  "&& ln -s / top && touch a/file"));
	CHECK(found("name") == 1 && found("./name") == 1);
	CHECK(found("/name") == 1 && found("//tmp//name") == 1);
	CHECK(found("a/b/name") == 1 && found("a//./b/name") == 1);
	CHECK(found("a/b/../../d/name") == 1);
	CHECK(found("a/link/name") == 1 && found("a/link/c/name") == 1);
	CHECK(found("a/link/over/name") == 1 && found("all/b/name") == 1);
	CHECK(found("all/../d/name") == 1);
	CHECK(found("top/name") == 1 && found("top/tmp/name") == 1);
	CHECK(found("a/b/") == 1);
	CHECK(found("a/none/name") == -ENOENT);
	CHECK(found("a/file/name") == -ENOTDIR);
	CHECK(found("a/file/x/name") == -ENOTDIR);
}

/* Links of /proc lead where their text doesn't say. */
static void test_proc(void)
{
	char path[64];
	int fd = open("a/b", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	CHECK(found("/proc/self/name") == 1);
	CHECK(found("/dev/fd/name") == 1);
	CHECK(found("/proc/self/cwd/a/name") == 1);
	snprintf(path, sizeof(path), "/proc/self/fd/%d/c/name", fd);
	CHECK(found(path) == 1);
	close(fd);
	fd = open("a/file", O_RDONLY | O_CLOEXEC);
	snprintf(path, sizeof(path), "/proc/self/fd/%d/name", fd);
	CHECK(found(path) == -ENOTDIR);
	close(fd);
}

/* As many links as the kernel follows, all together. */
static void test_many(void)
{
	char path[PATH_MAX] = "", name[NAME_MAX + 2];
	unsigned int links = 0;
	int fd;

	CHECK(scratch_run("ln -s loop loop && mkdir m && ln -s . m/l"));
	CHECK(found("loop/name") == -ELOOP);
	for (int i = 0; i < OW_OWNFOLDER_LINKS; i++)
		strcat(path, i ? "/l" : "m/l");
	strcat(path, "/name");
	CHECK(found(path) == 1);
	CHECK(scratch_run("ln -s m/l l"));
	fd = ow_ownfolder_open(AT_FDCWD, path, &links);
	CHECK(fd >= 0 && links == OW_OWNFOLDER_LINKS);
	CHECK(ow_ownfolder_open(AT_FDCWD, "l/name", &links) == -1 &&
	      errno == ELOOP);
	close(fd);
	memset(name, 'n', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	snprintf(path, sizeof(path), "%s/name", name);
	CHECK(found(path) == -ENAMETOOLONG);
}

/* Links of others, and ours, where others may make some and where they may not. */
static void test_others(void)
{
	if (geteuid())
		return;
	CHECK(scratch_run("mkdir -p t theirs root/sub && chmod 1777 t && "
			  "ln -s ../root t/out && ln -s ../root theirs/out && "
			  "ln -s t/out to && ln -s root own && mkdir t/deep"));
	CHECK(found("t/out/name") == 1 && found("to/sub/name") == 1);
	CHECK(lchown("t/out", OTHER, OTHER) == 0);
	CHECK(found("t/out/name") == -EPERM);
	CHECK(found("t/out/sub/name") == -EPERM);
	CHECK(found("to/name") == -EPERM);
	CHECK(found("t/deep/../out/sub/name") == -EPERM);
	/* In a folder of the link's owner. */
	CHECK(chown("theirs", OTHER, OTHER) == 0);
	CHECK(found("theirs/out/name") == 1 && found("theirs/name") == 1);
	CHECK(lchown("theirs/out", OTHER, OTHER) == 0);
	CHECK(found("theirs/out/name") == -EPERM);
	/* Where only root has put it. */
	CHECK(lchown("own", OTHER, OTHER) == 0);
	CHECK(found("own/sub/name") == 1);
}

int main(void)
{
	static const struct test tests[] = {
		{ "our links", test_ours },
		{ "links of /proc", test_proc },
		{ "many links", test_many },
		{ "links of others", test_others },
	};

	scratch_enter();
	return test_main(tests, OW_ARRAY_SIZE(tests));
}
