// SPDX-License-Identifier: BSD-2-Clause
/*
 * Children that share their parent's memory: as long as they do, a session is told
 * nothing of them, and once they execute something, all.
 */
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <outwind/kunwind.h>

#define CHILDREN 8

static int passed, failed;

/* What a session was told of one process. */
struct told {
	int followed, lacks, exits;
};

static void say(bool well, const char *what, long a, long b)
{
	passed += well;
	failed += !well;
	if (!well)
		printf("not ok - %s (%ld, %ld)\n", what, a, b);
}

static void note(struct told *t, const struct ow_kunwind_event *e)
{
	t->followed += e->kind == OW_KUNWIND_EV_FOLLOWED;
	t->lacks += e->kind == OW_KUNWIND_EV_LACKS;
	t->exits += e->kind == OW_KUNWIND_EV_EXIT;
}

/* Take all events that wait; return those of one process, or of all where it is 0. */
static struct told take_events(int dev, pid_t pid)
{
	struct ow_kunwind_event events[64];
	struct told told = { 0 };
	ssize_t got, i;

	while ((got = read(dev, events, sizeof(events))) > 0)
		for (i = 0; i < got / (ssize_t)sizeof(events[0]); i++)
			if (pid == 0 || events[i].pid == pid)
				note(&told, &events[i]);
	return told;
}

static int end_at_once(void *arg)
{
	(void)arg;
	_exit(0);
}

static int execute(void *arg)
{
	(void)arg;
	execl("/bin/true", "true", NULL);
	_exit(1);
}

/* Start a child, which shares memory if sharing is CLONE_VM, and wait for it. */
static pid_t start(int (*run)(void *arg), int sharing)
{
	static char stack[64 << 10];
	int status = -1;
	pid_t pid = clone(run, stack + sizeof(stack),
			  sharing | CLONE_VFORK | SIGCHLD, NULL);

	say(pid > 0 && waitpid(pid, &status, 0) == pid && status == 0,
	    "a child", pid, status);
	return pid;
}

static void of_a_process(void)
{
	int dev = ow_kunwind_open(NULL), i;
	struct told told;
	pid_t pid;

	say(ow_kunwind_follow_only(dev, 0, OW_KUNWIND_INHERIT, NULL) == 0,
	    "follow", errno, 0);
	take_events(dev, 0);
	for (i = 0; i < CHILDREN; i++)
		start(end_at_once, CLONE_VM);
	told = take_events(dev, 0);
	say(told.followed == 0 && told.lacks == 0 && told.exits == 0,
	    "nothing is told of children that share", told.followed,
	    told.lacks);
	pid = start(end_at_once, 0);
	told = take_events(dev, pid);
	say(told.followed == 1, "a child of its own memory is followed",
	    told.followed, told.exits);
	pid = start(execute, CLONE_VM);
	told = take_events(dev, pid);
	say(told.followed == 1, "one that executes something is followed",
	    told.followed, told.exits);
	close(dev);
}

static void of_all(void)
{
	int dev = ow_kunwind_open(NULL);
	struct told told;
	pid_t pid;

	say(ow_kunwind_follow_only(dev, 0, OW_KUNWIND_ALL, NULL) == 0,
	    "follow all", errno, 0);
	pid = start(end_at_once, CLONE_VM);
	told = take_events(dev, pid);
	say(told.followed == 0 && told.lacks == 0,
	    "our memory is not followed by a child's number", told.followed,
	    told.lacks);
	pid = start(execute, CLONE_VM);
	told = take_events(dev, pid);
	say(told.followed == 1, "what it executes is followed", told.followed,
	    told.exits);
	close(dev);
}

int main(void)
{
	setvbuf(stdout, NULL, _IOLBF, 0);
	of_a_process();
	of_all();
	printf("%d passed, %d failed\n", passed, failed);
	return failed != 0;
}
