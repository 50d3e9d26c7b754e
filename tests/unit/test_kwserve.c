// SPDX-License-Identifier: BSD-2-Clause
/*
 * What libkunwind makes of events, which come through a pipe in place of the module's
 * device.  Nothing is handed in: it is noted which file would be.
 */
#include <fcntl.h>
#include <outwind/kunwind.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kwobject.h"
#include "scratch.h"
#include "test.h"

#define SIZE 4096

/* A file that this process has mapped. */
struct mapped {
	struct stat st;
	uint64_t start;
};

static struct mapped library, other;
static ino_t handed[8];
static unsigned int nr_handed;
static int ends[2];

int ow_kwobject_add(int dev, int fd, const char *path,
		    const struct ow_kunwind_event *what, struct ow_error *err)
{
	struct stat st;

	(void)dev;
	(void)path;
	(void)what;
	(void)err;
	if (nr_handed < OW_ARRAY_SIZE(handed) && !fstat(fd, &st))
		handed[nr_handed++] = st.st_ino;
	return 0;
}

int ow_kunwind_add_vdso(int dev, pid_t pid, uint64_t start, uint64_t size,
			struct ow_error *err)
{
	(void)dev;
	(void)pid;
	(void)start;
	(void)size;
	(void)err;
	return 0;
}

static void map_file(const char *name, struct mapped *ret)
{
	int fd;
	void *at;

	scratch_write(name, name);
	fd = open(name, O_RDONLY | O_CLOEXEC);
	at = mmap(NULL, SIZE, PROT_READ, MAP_PRIVATE, fd, 0);
	if (fstat(fd, &ret->st) || at == MAP_FAILED)
		abort();
	close(fd);
	ret->start = (uintptr_t)at;
}

/* The library lacks a table in a user's process, which has something mapped there now. */
static void lack(uint64_t nr, uint32_t uid, pid_t pid, const struct mapped *now)
{
	const struct ow_kunwind_event what = {
		.kind = OW_KUNWIND_EV_LACKS,
		.pid = pid,
		.uid = uid,
		.nr = nr,
		.newest = 2,
		.dev = library.st.st_dev,
		.ino = library.st.st_ino,
		.start = now->start,
		.end = now->start + SIZE,
	};

	if (write(ends[1], &what, sizeof(what)) != sizeof(what))
		abort();
}

static int serve(struct ow_kunwind_tally *tally)
{
	memset(tally, 0, sizeof(*tally));
	nr_handed = 0;
	return ow_kunwind_serve(ends[0], tally, NULL, NULL, NULL);
}

/* A process' number that nobody has. */
static pid_t ended(void)
{
	pid_t pid = fork();

	if (pid == 0)
		_exit(0);
	waitpid(pid, NULL, 0);
	return pid;
}

static void test_same_user(void)
{
	struct ow_kunwind_tally tally;

	lack(2, 1000, getpid(), &library);
	lack(1, 1000, getpid(), &library);
	CHECK(serve(&tally) == 2);
	CHECK(nr_handed == 1 && handed[0] == library.st.st_ino);
	CHECK(tally.made == 1 && tally.failed == 0);
}

static void test_other_file_by_now(void)
{
	struct ow_kunwind_tally tally;

	lack(2, 65534, getpid(), &other);
	lack(1, 1000, getpid(), &library);
	CHECK(serve(&tally) == 2);
	CHECK(nr_handed == 2 && handed[0] == other.st.st_ino &&
	      handed[1] == library.st.st_ino);
	CHECK(tally.made == 2 && tally.failed == 0);
}

static void test_ended(void)
{
	struct ow_kunwind_tally tally;

	lack(2, 1000, ended(), &library);
	lack(1, 1000, getpid(), &library);
	CHECK(serve(&tally) == 2);
	CHECK(nr_handed == 1 && handed[0] == library.st.st_ino);
	CHECK(tally.made == 1 && tally.failed == 1);
}

int main(void)
{
	static const struct test tests[] = {
		{ "a file is looked at once for one user", test_same_user },
		{ "a look at another user's process doesn't count",
		  test_other_file_by_now },
		{ "a look at a process that has ended doesn't count",
		  test_ended },
	};

	scratch_enter();
	map_file("library", &library);
	map_file("other", &other);
	if (pipe2(ends, O_NONBLOCK | O_CLOEXEC))
		abort();
	return test_main(tests, sizeof(tests) / sizeof(tests[0]));
}
