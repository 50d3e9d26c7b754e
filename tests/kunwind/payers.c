// SPDX-License-Identifier: BSD-2-Clause
/*
 * Who pays for tables that a session of root's brings for everybody: a user whose
 * processes map them, whoever owns the files.  Those that nobody maps go for new ones.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <outwind/kunwind.h>

#include "madetable.h"
#include "userprogram.h"

#define FIRST     65534
#define SECOND    1
#define FULL      2 /* whose share is full */
#define FILES     30
#define BLOCKS    2000 /* of a table */
#define MAX_MIB   2    /* a user's */
#define PARAMETER "/sys/module/kunwind/parameters/max_user_mib"
#define PATIENCE  200 /* times 50 ms */

static int passed, failed;
static int fds[FILES];
static ino_t inodes[FILES];
static size_t table_size;

static void say(bool well, const char *what, long a, long b)
{
	passed += well;
	failed += !well;
	if (!well)
		printf("not ok - %s (%ld, %ld)\n", what, a, b);
}

static void set_max(unsigned int mib)
{
	FILE *f = fopen(PARAMETER, "we");

	say(f && fprintf(f, "%u", mib) > 0 && fclose(f) == 0, "a limit", mib,
	    errno);
}

static void name_file(int i, char *ret, size_t size)
{
	snprintf(ret, size, "/dev/shm/kunwind-payers-%d", i);
}

/* Files of root's that all may read. */
static void make_files(void)
{
	char path[64];
	struct stat st;
	int i;

	for (i = 0; i < FILES; i++) {
		name_file(i, path, sizeof(path));
		fds[i] = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0644);
		if (ftruncate(fds[i], 4096) || fstat(fds[i], &st))
			say(false, "a file", i, errno);
		inodes[i] = st.st_ino;
	}
}

static void remove_files(void)
{
	char path[64];
	int i;

	for (i = 0; i < FILES; i++) {
		name_file(i, path, sizeof(path));
		unlink(path);
	}
}

/* --- programs of users --- */

/* Map files for execution, say so, and sleep. */
static int act(int from, int to)
{
	char path[64];
	int fd;

	begin_as_program();
	for (; from < to; from++) {
		name_file(from, path, sizeof(path));
		fd = open(path, O_RDONLY | O_CLOEXEC);
		if (mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd,
			 0) == MAP_FAILED)
			return 1;
		close(fd);
	}
	return rest_as_program();
}

/* A process of a user's that maps files. */
static pid_t start(uid_t uid, int from, int to)
{
	char name[] = "payers", first[16], end[16];
	char *const arguments[] = { name, first, end, NULL };
	pid_t pid;

	snprintf(first, sizeof(first), "%d", from);
	snprintf(end, sizeof(end), "%d", to);
	pid = run_as(uid, arguments);
	say(pid > 0, "a user's program", (long)uid, errno);
	return pid;
}

/* --- a session of root's --- */

static int hand_in(int dev, int i, const struct ow_kunwind_event *what)
{
	struct ow_kunwind_segment seg = { 0, 4096, 0 };
	uint8_t *bytes =
		make_table(BLOCKS, 4096 * (uint64_t)(i + 1), &table_size);
	struct ow_kunwind_table t = {
		.fd = fds[i],
		.bytes = (uintptr_t)bytes,
		.size = (uint32_t)table_size,
		.nr_segments = 1,
		.segments = (uintptr_t)&seg,
		.flags = OW_KUNWIND_FOR_USER,
		.uid = what->uid,
	};
	int failed_by;

	if (what->privileged)
		t.flags |= OW_KUNWIND_FOR_PRIVILEGED;
	failed_by = ioctl(dev, OW_KUNWIND_TABLE, &t) ? errno : 0;
	munmap(bytes, table_size);
	return failed_by;
}

struct served {
	int taken, refused, odd;
};

/* Hand in what files of ours lack, as outwind kunwindd does. */
static struct served serve(int dev)
{
	struct served s = { 0 };
	struct ow_kunwind_event e;
	int i, got;

	while (read(dev, &e, sizeof(e)) == sizeof(e)) {
		for (i = 0; i < FILES && inodes[i] != e.ino; i++)
			;
		if (e.kind != OW_KUNWIND_EV_LACKS || i == FILES)
			continue;
		got = hand_in(dev, i, &e);
		s.taken += got == 0;
		s.refused += got == ENOSPC;
		s.odd += got != 0 && got != ENOSPC;
	}
	return s;
}

static struct ow_kunwind_stats stats_of(int dev)
{
	struct ow_kunwind_stats stats = { 0 };

	say(ioctl(dev, OW_KUNWIND_STATS, &stats) == 0, "statistics", dev,
	    errno);
	return stats;
}

static uint64_t held(int dev)
{
	return stats_of(dev).bytes_user;
}

/* What a user holds, beside what it takes to ask. */
static uint64_t held_by(uid_t uid)
{
	uint64_t ret = 0;
	int of[2], dev;
	pid_t pid;

	if (pipe2(of, O_CLOEXEC))
		return 0;
	pid = fork();
	if (pid == 0) {
		if (setgid(uid) || setuid(uid))
			_exit(1);
		dev = ow_kunwind_open(NULL);
		ret = held(dev);
		_exit(write(of[1], &ret, sizeof(ret)) != sizeof(ret));
	}
	close(of[1]);
	say(read(of[0], &ret, sizeof(ret)) == sizeof(ret), "a user's holdings",
	    (long)uid, errno);
	close(of[0]);
	waitpid(pid, NULL, 0);
	return ret;
}

/* What is not mapped any more goes after a grace period. */
static bool comes_to_hold(int dev, uid_t uid, uint64_t least)
{
	int i;

	for (i = 0; i < PATIENCE; i++) {
		if (held_by(uid) >= least)
			return true;
		serve(dev);
		usleep(50000);
	}
	return false;
}

static void mappers_pay(int dev)
{
	uint64_t roots = held(dev), others;
	struct served s;
	pid_t first, second;

	first = start(FIRST, 0, 20);
	s = serve(dev);
	printf("# of 20 tables for a user's process %d are taken, %d refused; "
	       "root holds %ld bytes more\n",
	       s.taken, s.refused, (long)(held(dev) - roots));
	say(s.taken >= 8 && s.taken <= 12 && s.taken + s.refused == 20,
	    "a user's share", s.taken, s.refused);
	say(held(dev) - roots < table_size, "root pays nothing",
	    (long)(held(dev) - roots), 0);
	second = start(SECOND, 12, 20);
	s = serve(dev);
	say(s.taken == 8 && s.refused == 0, "another user's share", s.taken,
	    s.refused);
	end_program(second);
	second = start(SECOND, 0, 1);
	s = serve(dev);
	say(s.taken + s.refused + s.odd == 0, "a table serves all", s.taken,
	    s.refused);
	others = held_by(SECOND);
	end_program(first);
	say(comes_to_hold(dev, SECOND, others + table_size / 2),
	    "the one who maps it still pays", (long)others,
	    (long)held_by(SECOND));
	first = start(FIRST, 20, 30);
	s = serve(dev);
	say(s.taken == 10 && s.refused == 0,
	    "what nobody maps any more goes for new ones", s.taken, s.refused);
	end_program(first);
	end_program(second);
}

/* End a program, and wait until its map is gone. */
static void end_and_wait(int dev, pid_t pid)
{
	uint64_t before = stats_of(dev).map_bytes;
	int i;

	end_program(pid);
	for (i = 0; i < PATIENCE && stats_of(dev).map_bytes >= before; i++)
		usleep(50000);
	say(i < PATIENCE, "a map that goes", (long)before,
	    (long)stats_of(dev).map_bytes);
}

/* A user whose share is full maps what another one has: the other pays no longer. */
static void full_ones_keep_nothing(int dev)
{
	pid_t first, full[2];
	struct served s;

	full[0] = start(FULL, 16, 30);
	s = serve(dev);
	say(s.taken >= 8 && s.refused >= 2, "a full share", s.taken, s.refused);
	first = start(FIRST, 0, 8);
	s = serve(dev);
	say(s.taken == 8, "another user's tables", s.taken, s.refused);
	full[1] = start(FULL, 0, 8);
	s = serve(dev);
	say(s.taken == 0 && s.refused == 8,
	    "no room for what another user pays", s.taken, s.refused);
	end_and_wait(dev, first);
	first = start(FIRST, 8, 16);
	s = serve(dev);
	say(s.taken == 8 && s.refused == 0,
	    "what only a full one would map goes for new ones", s.taken,
	    s.refused);
	end_program(first);
	end_program(full[0]);
	end_program(full[1]);
}

/* Who is said to pay has to be somebody. */
static void is_checked(int dev)
{
	struct ow_kunwind_event what = { .uid = OW_KUNWIND_NO_USER };

	say(hand_in(dev, 0, &what) == EINVAL, "no user", errno, 0);
	what = (struct ow_kunwind_event){ .uid = 0, .privileged = 1 };
	say(hand_in(dev, 0, &what) == 0, "root", errno, 0);
}

int main(int argc, char **argv)
{
	int dev;

	if (argc > 2)
		return act(atoi(argv[1]), atoi(argv[2]));
	setvbuf(stdout, NULL, _IOLBF, 0);
	make_files();
	set_max(MAX_MIB);
	dev = ow_kunwind_open(NULL);
	say(ow_kunwind_follow_only(dev, 0, OW_KUNWIND_ALL, NULL) == 0,
	    "follow all", errno, 0);
	mappers_pay(dev);
	is_checked(dev);
	close(dev);
	dev = ow_kunwind_open(NULL);
	say(ow_kunwind_follow_only(dev, 0, OW_KUNWIND_ALL, NULL) == 0,
	    "follow all again", errno, 0);
	full_ones_keep_nothing(dev);
	close(dev);
	set_max(64);
	remove_files();
	printf("%d passed, %d failed\n", passed, failed);
	return failed != 0;
}
