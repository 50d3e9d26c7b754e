// SPDX-License-Identifier: BSD-2-Clause
/*
 * Processes that nobody follows any more, but that live on: of these only the
 * innermost frame is known, as of any other, and they are in nobody's way.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <outwind/kunwind.h>
#include <outwind/outwind.h>

#define PROCESSES 16
#define TIMES     40

static int passed, failed, idle; /* a session that follows nobody */

static void say(bool well, const char *what, long a, long b)
{
	passed += well;
	failed += !well;
	if (!well)
		printf("not ok - %s (%ld, %ld)\n", what, a, b);
}

static void is_complete(const char *what)
{
	struct ow_frame frames[64];
	enum ow_end end = OW_END_NOT_YET;
	int nr = ow_kunwind_unwind(idle, frames, 64, 0, &end, NULL);

	say(nr >= 3 && end == OW_END_OUTERMOST, what, nr, end);
}

static void is_unknown(const char *what)
{
	struct ow_frame frames[64];
	enum ow_end end = OW_END_NOT_YET;
	int nr = ow_kunwind_unwind(idle, frames, 64, 0, &end, NULL);

	say(nr == 1 && end == OW_END_NO_MODULE, what, nr, end);
}

static unsigned long long followed(void)
{
	struct ow_kunwind_stats stats = { 0 };

	say(ioctl(idle, OW_KUNWIND_STATS, &stats) == 0, "statistics", 0, 0);
	return stats.followed;
}

static void one_by_one(void)
{
	struct ow_kunwind_follow self = { .pid = 0 };
	int a = ow_kunwind_open(NULL), b = ow_kunwind_open(NULL);

	is_unknown("at first");
	say(ow_kunwind_follow(a, 0, 0, NULL) == 0, "follow", 0, 0);
	is_complete("followed");
	say(ioctl(a, OW_KUNWIND_UNFOLLOW, &self) == 0, "unfollow", 0, 0);
	is_unknown("unfollowed");
	say(ow_kunwind_follow(a, 0, 0, NULL) == 0, "follow again", 0, 0);
	say(ow_kunwind_follow(b, 0, 0, NULL) == 0, "twice", 0, 0);
	is_complete("followed by two");
	/* The tables were a's; b is told that it lacks them now. */
	close(a);
	say(ow_kunwind_serve(b, NULL, NULL, NULL, NULL) > 0, "events", 0, 0);
	is_complete("followed by one of them");
	close(b);
	is_unknown("closed");
	say(followed() == 0, "nobody is followed", (long)followed(), 0);
}

/* What was followed is freed in the meantime, and its memory used again. */
static void come_and_go(void)
{
	unsigned int i;
	int dev;

	for (i = 0; i < TIMES; i++) {
		dev = ow_kunwind_open(NULL);
		if (ow_kunwind_follow_only(dev, 0, 0, NULL))
			_exit(1);
		close(dev);
		usleep(1000 * (i % 8));
	}
}

/* A process that was followed, and will be unwound when all of them were. */
static pid_t start(const int *ready, const int *go)
{
	struct ow_frame frames[8];
	pid_t pid = fork();
	enum ow_end end;
	char c = 0;

	if (pid)
		return pid;
	close(go[1]);
	come_and_go();
	if (write(ready[1], &c, 1) != 1 || read(go[0], &c, 1) != 0)
		_exit(2);
	if (ow_kunwind_unwind(idle, frames, 8, 0, &end, NULL) != 1)
		_exit(3);
	_exit(0);
}

static void many(void)
{
	pid_t pids[PROCESSES];
	int ready[2], go[2], status;
	unsigned int i;
	char c;

	if (pipe(ready) || pipe(go)) {
		say(false, "pipes", 0, 0);
		return;
	}
	for (i = 0; i < PROCESSES; i++)
		pids[i] = start(ready, go);
	for (i = 0; i < PROCESSES; i++)
		say(read(ready[0], &c, 1) == 1, "a child", i, 0);
	close(go[1]);
	for (i = 0; i < PROCESSES; i++) {
		status = -1;
		waitpid(pids[i], &status, 0);
		say(status == 0, "many", status, i);
	}
	is_unknown("beside many");
}

int main(void)
{
	struct ow_error err;

	setvbuf(stdout, NULL, _IOLBF, 0);
	idle = ow_kunwind_open(&err);
	if (idle < 0) {
		printf("%s\n0 passed, 1 failed\n", err.msg);
		return 1;
	}
	one_by_one();
	many();
	printf("%d passed, %d failed\n", passed, failed);
	return failed != 0;
}
