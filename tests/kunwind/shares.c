// SPDX-License-Identifier: BSD-2-Clause
/*
 * What one user's processes leave to another user's of a session that follows all: room
 * for events, turns of the reader, and processes that may be followed.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <outwind/kunwind.h>

#include "userprogram.h"

#define FLOODER  65534
#define OTHER    1
#define MAPPINGS 1500
#define MOST     (OW_KUNWIND_FILE_EVENTS / 2)
#define FOLLOWED "/sys/module/kunwind/parameters/max_followed"
#define ROOM     "/sys/module/kunwind/parameters/max_user_mib"
#define MAX      40
#define SLEEPERS 60
#define SLOW     20000 /* us that the reader takes */

static int passed, failed;

static void say(bool well, const char *what, long a, long b)
{
	passed += well;
	failed += !well;
	if (!well)
		printf("not ok - %s (%ld, %ld)\n", what, a, b);
}

/* --- programs of users --- */

/* Map a file that has no code again and again. */
static void map_much(void)
{
	int fd = memfd_create("flood", 0), i;

	if (ftruncate(fd, 4096))
		_exit(1);
	for (i = 0; i < MAPPINGS; i++)
		mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
}

/* Have children that do nothing, all of which have begun. */
static void fork_much(void)
{
	int ready[2], i;
	char c;

	if (pipe2(ready, O_CLOEXEC))
		_exit(1);
	for (i = 0; i < SLEEPERS; i++) {
		if (fork() == 0) {
			begin_as_program();
			if (write(ready[1], "x", 1) == 1)
				for (;;)
					pause();
			_exit(1);
		}
		if (read(ready[0], &c, 1) != 1)
			_exit(1);
	}
}

/* Rest, and map code once that is asked for. */
static void map_later(void)
{
	sigset_t set;
	int got;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	sigprocmask(SIG_BLOCK, &set, NULL);
	if (write(STDOUT_FILENO, "x", 1) != 1 || sigwait(&set, &got))
		_exit(1);
	map_much();
	for (;;)
		pause();
}

static int act(const char *what)
{
	if (strcmp(what, "drop") == 0 && (setgid(FLOODER) || setuid(FLOODER)))
		return 1;
	begin_as_program();
	if (strcmp(what, "fork") == 0)
		fork_much();
	else if (strcmp(what, "later") == 0)
		map_later();
	else if (strcmp(what, "wait") != 0)
		map_much();
	if (strcmp(what, "both") == 0)
		fork_much();
	return rest_as_program();
}

static pid_t start(uid_t uid, const char *what)
{
	char name[] = "shares", act[16];
	char *const arguments[] = { name, act, NULL };
	pid_t pid;

	snprintf(act, sizeof(act), "%s", what);
	pid = run_as(uid, arguments);
	say(pid > 0, "a user's program", (long)uid, errno);
	return pid;
}

/* --- what a session is told --- */

static int follow(unsigned int flags)
{
	int dev = ow_kunwind_open(NULL);

	say(ow_kunwind_follow_only(dev, 0, flags, NULL) == 0, "follow", flags,
	    errno);
	return dev;
}

static int follow_all(void)
{
	return follow(OW_KUNWIND_ALL);
}

static bool next(int dev, struct ow_kunwind_event *ret)
{
	return read(dev, ret, sizeof(*ret)) == sizeof(*ret);
}

static void has_room_beside(void)
{
	int dev = follow_all(), others = 0, nr = 0, lacks = 0;
	pid_t flooder = start(FLOODER, "flood"), other = start(OTHER, "wait");
	struct ow_kunwind_event e;
	uint64_t lost = 0, last = 0;
	unsigned int tries = 100;
	bool in_order = true, is_there;

	/* A machine that is busy may tell of some later. */
	while ((is_there = next(dev, &e)) ||
	       (nr + lost < MAPPINGS && tries--)) {
		if (!is_there) {
			usleep(100000);
			continue;
		}
		if (e.kind == OW_KUNWIND_EV_LOST) {
			others += e.uid != FLOODER;
			lost += e.nr;
			continue;
		}
		if (e.uid == FLOODER) {
			in_order = in_order && e.nr > last;
			last = e.nr;
			nr++;
		}
		lacks += e.pid == other && e.uid == OTHER && !e.privileged &&
			 e.kind == OW_KUNWIND_EV_LACKS;
	}
	printf("# %d events of one user's, %llu lost; another one's process "
	       "lacks %d tables\n",
	       nr, (unsigned long long)lost, lacks);
	say(nr > MOST / 2 && nr <= MOST, "half of the room", nr, MOST);
	say(nr + (long)lost >= MAPPINGS && others == 0,
	    "what is lost is that user's", (long)lost, others);
	say(lacks >= 3, "another user's program is told of", lacks, 0);
	say(in_order, "one user's events are in their order", 0, 0);
	end_program(flooder);
	end_program(other);
	close(dev);
}

/* The flooder's events take the reader long, the other's nothing. */
static void takes_turns(void)
{
	int dev = follow_all(), i, ahead = 0, lacks = 0;
	pid_t flooder = start(FLOODER, "flood"), other;
	struct ow_kunwind_event e;

	/* Not the events of what it was before it executed. */
	while (next(dev, &e) && (e.uid != FLOODER || ++ahead < 8))
		;
	usleep(SLOW);
	other = start(OTHER, "wait");
	for (i = ahead = 0; i < 100 && lacks < 3 && next(dev, &e); i++) {
		ahead += e.uid == FLOODER;
		if (e.uid == FLOODER)
			usleep(SLOW);
		lacks += e.pid == other && e.kind == OW_KUNWIND_EV_LACKS;
	}
	say(lacks >= 3 && ahead <= 2, "those who took less come first", ahead,
	    lacks);
	end_program(flooder);
	end_program(other);
	close(dev);
}

/* A server that root started, and that runs as another user since. */
static void drops_privileges(void)
{
	int dev = follow_all(), nr = 0, roots = 0;
	pid_t flooder = start(0, "drop");
	struct ow_kunwind_event e;
	uint64_t lost = 0;

	while (next(dev, &e)) {
		lost += e.uid == FLOODER && e.kind == OW_KUNWIND_EV_LOST ?
				e.nr :
				0;
		nr += e.uid == FLOODER && e.pid == flooder;
		roots += e.uid == 0 && e.pid == flooder;
	}
	say(nr > MOST / 2 && nr <= MOST && lost >= MAPPINGS - MOST,
	    "an account of whom it runs as", nr, (long)lost);
	say(roots < MOST / 4, "root's is left alone", roots, 0);
	end_program(flooder);
	close(dev);
}

/* --- processes that are followed --- */

static void set_limit(const char *of, unsigned int max)
{
	FILE *f = fopen(of, "we");

	say(f && fprintf(f, "%u", max) > 0 && fclose(f) == 0, "a limit", max,
	    errno);
}

/* Beside that many programs of one user's, which do that. */
static void follows_others(unsigned int flags, int nr, const char *what)
{
	int dev, i, followed = 0, others = 0, told = 0;
	pid_t sleepers[SLEEPERS], other;
	struct ow_kunwind_event e;

	set_limit(FOLLOWED, MAX);
	dev = follow(flags);
	for (i = 0; i < nr; i++)
		sleepers[i] = start(FLOODER, what);
	other = start(OTHER, "wait");
	while (next(dev, &e)) {
		if (e.kind == OW_KUNWIND_EV_FOLLOWED) {
			followed += e.uid == FLOODER;
			others += e.pid == other && e.uid == OTHER;
		}
		told += e.kind == OW_KUNWIND_EV_LOST && e.uid == FLOODER &&
			e.nr == 0;
	}
	printf("# %d of one user's %d processes are followed, of %d\n",
	       followed, SLEEPERS, MAX);
	say(followed > MAX / 4 && followed <= MAX / 2, "half of all", followed,
	    MAX);
	say(others == 1, "another user's is followed", others, 0);
	say(told == 1, "that some are not is told", told, 0);
	for (i = 0; i < nr; i++)
		end_program(sleepers[i]);
	end_program(other);
	close(dev);
	set_limit(FOLLOWED, 16384);
}

/* How often the session is told, for some seconds, that something of the user's is missed. */
static int count_missed(int dev, uid_t uid)
{
	struct ow_kunwind_event e;
	int missed = 0, i;

	for (i = 0; i < 100 && !missed; i++) {
		while (next(dev, &e))
			missed += e.kind == OW_KUNWIND_EV_LOST && e.nr == 0 &&
				  e.uid == uid;
		usleep(100000);
	}
	return missed;
}

/* Processes for whose maps there is no room: one that has a map, and one that has none. */
static void tells_of_no_room(void)
{
	int dev = follow_all();
	pid_t pid = start(OTHER, "later");

	set_limit(ROOM, 0);
	kill(pid, SIGUSR1);
	say(count_missed(dev, OTHER) > 0, "that a map is lost is told", 0, 0);
	end_program(pid);
	set_limit(ROOM, 1);
	pid = start(FLOODER, "both");
	say(count_missed(dev, FLOODER) > 0, "that there is no map is told", 0,
	    0);
	end_program(pid);
	set_limit(ROOM, 64);
	close(dev);
}

/* --- subordinate ids --- */

static const struct ow_kunwind_subuid subuids[] = {
	{ 1000, 1000, FLOODER },
	{ 100000, 165535, OTHER },
	{ 165536, 231071, FLOODER },
};

/* 0, or the errno. */
static int hand_in(int dev, const struct ow_kunwind_subuid *ranges, uint32_t nr)
{
	const struct ow_kunwind_subuids list = { .ranges = (uintptr_t)ranges,
						 .nr = nr };

	return ioctl(dev, OW_KUNWIND_SUBUIDS, &list) ? errno : 0;
}

/* The user whose a program is that runs with an id; it was root's before. */
static uint32_t user_of(int dev, uid_t id)
{
	pid_t pid = start(id, "wait");
	uint32_t uid = OW_KUNWIND_NO_USER;
	struct ow_kunwind_event e;

	while (next(dev, &e))
		if (e.pid == pid && e.uid && e.kind == OW_KUNWIND_EV_LACKS)
			uid = e.uid;
	end_program(pid);
	return uid;
}

static void refuses_lists(int dev)
{
	const struct ow_kunwind_subuid bad[][2] = {
		{ { 10, 20, 1 }, { 20, 30, 1 } }, /* an id twice */
		{ { 10, 20, 1 }, { 5, 6, 1 } },
		{ { 10, 9, 1 }, { 20, 30, 1 } },
		{ { 0, 9, 1 }, { 20, 30, 1 } }, /* root's */
		{ { 10, 20, 0 }, { 21, 30, 1 } },
		{ { 10, 20, 1 }, { 21, UINT32_MAX, 1 } }, /* no id */
	};
	size_t i;

	for (i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		say(hand_in(dev, bad[i], 2) == EINVAL, "a list is refused",
		    (long)i, 0);
	say(hand_in(dev, NULL, 3) == EFAULT, "no list", 0, 0);
	say(hand_in(dev, subuids, OW_KUNWIND_MAX_SUBUIDS + 1) == EINVAL,
	    "a list that is too long", 0, 0);
	say(seteuid(FLOODER) == 0 && hand_in(dev, subuids, 3) == EPERM &&
		    seteuid(0) == 0,
	    "not for users", 0, 0);
}

static void knows_subordinate_ids(void)
{
	int dev = follow_all();

	say(user_of(dev, 100001) == 100001, "nobody's id", 0, 0);
	say(hand_in(dev, subuids, 3) == 0, "hand in a list", errno, 0);
	refuses_lists(dev);
	say(user_of(dev, 100000) == OTHER, "a user's first id", 0, 0);
	say(user_of(dev, 165535) == OTHER, "a user's last id", 0, 0);
	say(user_of(dev, 165536) == FLOODER, "another user's id", 0, 0);
	say(user_of(dev, 1000) == FLOODER, "a range of one", 0, 0);
	say(user_of(dev, 999) == 999 && user_of(dev, 99999) == 99999 &&
		    user_of(dev, 231072) == 231072,
	    "ids beside", 0, 0);
	say(hand_in(dev, NULL, 0) == 0 && user_of(dev, 100000) == 100000,
	    "an empty list", 0, 0);
	close(dev);
}

int main(int argc, char **argv)
{
	if (argc > 1)
		return act(argv[1]);
	setvbuf(stdout, NULL, _IOLBF, 0);
	has_room_beside();
	takes_turns();
	drops_privileges();
	follows_others(OW_KUNWIND_ALL, SLEEPERS, "wait");
	follows_others(OW_KUNWIND_INHERIT, SLEEPERS, "wait");
	follows_others(OW_KUNWIND_INHERIT, 1, "fork");
	tells_of_no_room();
	knows_subordinate_ids();
	printf("%d passed, %d failed\n", passed, failed);
	return failed != 0;
}
