// SPDX-License-Identifier: BSD-2-Clause
/* What whom is allowed; run as root. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <outwind/kunwind.h>
#include <outwind/outwind.h>

#include "ow_table.h"

#define NOBODY 65534

static int passed, failed;

static void say(bool well, const char *what)
{
	passed += well;
	failed += !well;
	if (!well)
		printf("not ok - %s (errno %d)\n", what, errno);
}

/* The errno of a call to follow. */
static int follow(int dev, pid_t pid, unsigned int flags)
{
	struct ow_kunwind_follow f = { .pid = pid, .flags = flags };

	return ioctl(dev, OW_KUNWIND_FOLLOW, &f) ? errno : 0;
}

static bool is_privileged(int dev)
{
	struct ow_kunwind_info info = { 0 };

	return ioctl(dev, OW_KUNWIND_INFO, &info) == 0 && info.privileged;
}

/* A process of the user's own that sleeps; dumpable as told. */
static pid_t sleeper(bool dumpable)
{
	int ready[2];
	char c;
	pid_t pid;

	if (pipe(ready))
		return -1;
	pid = fork();
	if (pid == 0) {
		prctl(PR_SET_DUMPABLE, dumpable);
		if (write(ready[1], "x", 1) == 1)
			for (;;)
				pause();
		_exit(1);
	}
	say(read(ready[0], &c, 1) == 1, "a child");
	close(ready[0]);
	close(ready[1]);
	return pid;
}

static void end(pid_t pid)
{
	kill(pid, 9);
	waitpid(pid, NULL, 0);
}

static int table(int dev, struct ow_kunwind_table *t)
{
	return ioctl(dev, OW_KUNWIND_TABLE, t) ? errno : 0;
}

/* Arguments and bytes that are no table. */
static void bad_tables(int dev)
{
	struct ow_kunwind_segment seg = { 0, 4096, 0 };
	static _Alignas(8) uint8_t bytes[256];
	struct ow_kunwind_table good = {
		.fd = open("/proc/self/exe", O_RDONLY),
		.bytes = (uintptr_t)bytes,
		.size = sizeof(bytes),
		.nr_segments = 1,
		.segments = (uintptr_t)&seg,
	};
	struct ow_kunwind_table t = good;
	struct ow_table_head *head = (void *)bytes;

	say(table(dev, &t) == EINVAL, "zeros are no table");
	head->magic = OW_TABLE_MAGIC;
	head->version = OW_TABLE_VERSION;
	head->machine = 62;
	head->word = 8;
	head->rows_size = 0xffffffff;
	say(table(dev, &t) == EINVAL, "sizes that don't fit");
	t.size = 1u << 31;
	say(table(dev, &t) == EINVAL, "too large a table");
	t = good;
	t.bytes = 8;
	say(table(dev, &t) == EFAULT, "bytes that aren't there");
	t = good;
	t.segments = 8;
	say(table(dev, &t) == EFAULT, "segments that aren't there");
	t = good;
	t.nr_segments = OW_KUNWIND_MAX_SEGS + 1;
	say(table(dev, &t) == EINVAL, "too many segments");
	t = good;
	t.fd = 1000;
	say(table(dev, &t) == EBADF, "no file");
	t.fd = open("/proc/self/exe", O_PATH);
	say(table(dev, &t) == EBADF, "a file that isn't open for reading");
	t = good;
	t.reserved = 1;
	say(table(dev, &t) == EINVAL, "a reserved field");
	t = good;
	t.size = 0;
	say(table(dev, &t) == EINVAL, "no bytes");
	t.rare_size = 16;
	say(table(dev, &t) == EINVAL, "rare rows without a table");
	t.size = 8;
	t.rare_size = 1u << 31;
	say(table(dev, &t) == EINVAL, "too many rare rows");
	close(good.fd);
}

/* Tables and events of one session are bounded. */
static void bounded(int dev)
{
	struct ow_kunwind_info info;
	struct ow_kunwind_stats before, after;
	struct ow_error err;
	int fd = open("/proc/self/exe", O_RDONLY), i, tries = 0;

	ioctl(dev, OW_KUNWIND_INFO, &info);
	say(info.max_frames == 1024 && info.max_bytes_user > 0, "limits");
	say(ow_kunwind_add(dev, fd, "exe", &err) == 0, "a table of one's own");
	/* Again if others' tables went meanwhile, which are let go late. */
	do {
		ioctl(dev, OW_KUNWIND_STATS, &before);
		for (i = 0; i < 100; i++)
			ow_kunwind_add(dev, fd, "exe", &err);
		ioctl(dev, OW_KUNWIND_STATS, &after);
	} while (after.tables < before.tables && tries++ < 100);
	say(after.tables == before.tables &&
		    after.table_bytes == before.table_bytes,
	    "the same table is held once");
	close(fd);
}

static void as_nobody(pid_t roots)
{
	pid_t own, secret;
	int dev;

	if (setgid(NOBODY) || setuid(NOBODY))
		exit(1);
	prctl(PR_SET_DUMPABLE, 1);
	dev = open(OW_KUNWIND_DEVICE, O_RDWR | O_NONBLOCK);
	say(dev >= 0, "anybody may open it");
	say(!is_privileged(dev), "without privileges");
	say(follow(dev, 0, 0) == 0, "follow oneself");
	say(follow(dev, roots, 0) == EPERM, "root's process");
	say(follow(dev, 0, OW_KUNWIND_ALL) == EPERM, "all processes");
	say(follow(dev, 1, 0) == EPERM, "init");
	say(follow(dev, INT_MAX, 0) == ESRCH, "nobody's process");
	say(follow(dev, 0, 0xf0) == EINVAL, "unknown flags");
	own = sleeper(true);
	secret = sleeper(false);
	say(follow(dev, own, OW_KUNWIND_INHERIT) == 0, "one's own process");
	say(follow(dev, secret, 0) == EPERM, "one that is not dumpable");
	bad_tables(dev);
	bounded(dev);
	end(own);
	end(secret);
	close(dev);
}

/* In root's process: do nobody's tables count? */
static unsigned int frames_now(int dev)
{
	struct ow_frame frames[64];
	enum ow_end why;

	return (unsigned int)ow_kunwind_unwind(dev, frames, 64, 0, &why, NULL);
}

/* nobody brings tables of all that this process maps. */
static void tables_of_nobody(void)
{
	struct ow_kunwind_follow self = { .pid = 0 };
	int dev = open(OW_KUNWIND_DEVICE, O_RDWR | O_NONBLOCK), theirs, status;
	int tell[2], done[2];
	char c;
	pid_t pid;

	if (pipe(tell) || pipe(done))
		return;
	pid = fork();
	if (pid == 0) {
		if (setgid(NOBODY) || setuid(NOBODY))
			_exit(1);
		prctl(PR_SET_DUMPABLE, 1);
		theirs = ow_kunwind_open(NULL);
		if (ow_kunwind_follow(theirs, 0, 0, NULL))
			_exit(2);
		if (frames_now(theirs) < 3)
			_exit(3);
		if (write(tell[1], "x", 1) != 1 || read(done[0], &c, 1) != 1)
			_exit(4);
		_exit(0);
	}
	say(read(tell[0], &c, 1) == 1, "nobody's tables");
	say(ioctl(dev, OW_KUNWIND_FOLLOW, &self) == 0, "follow oneself");
	say(frames_now(dev) <= 2, "nobody's tables don't count for root");
	say(write(done[1], "x", 1) == 1, "done");
	waitpid(pid, &status, 0);
	say(status == 0, "but for nobody's own process");
	close(dev);
}

int main(void)
{
	int dev = open(OW_KUNWIND_DEVICE, O_RDWR | O_NONBLOCK), status = -1;
	pid_t roots = sleeper(true), child;

	say(is_privileged(dev), "root is privileged");
	say(follow(dev, roots, 0) == 0, "root follows whom it wants");
	say(follow(dev, 2, 0) == ESRCH, "but no kernel thread");
	tables_of_nobody();
	fflush(stdout);
	child = fork();
	if (child == 0) {
		passed = failed = 0;
		as_nobody(roots);
		printf("%d passed, %d failed\n", passed, failed);
		fflush(stdout);
		_exit(failed != 0);
	}
	waitpid(child, &status, 0);
	say(status == 0, "as nobody");
	end(roots);
	printf("%d passed, %d failed\n", passed, failed);
	return failed != 0;
}
