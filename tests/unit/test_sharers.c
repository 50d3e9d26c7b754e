// SPDX-License-Identifier: BSD-2-Clause
/* Which processes share one's memory, and whether that is known. */
#include "sharers.h"

#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "procfs.h"
#include "test.h"

static uint8_t stack[64 << 10] __attribute__((aligned(16)));

static int wait_for_ever(void *arg)
{
	(void)arg;
	for (;;)
		pause();
	return 0;
}

static pid_t start(int flags)
{
	pid_t child = clone(wait_for_ever, stack + sizeof(stack),
			    flags | SIGCHLD, NULL);

	if (child < 0)
		abort();
	return child;
}

static void end(pid_t child)
{
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
}

/* Of each the other one is found, be it the parent or the child. */
static void test_shared(void)
{
	pid_t child = start(CLONE_VM);

	CHECK(ow_sharers_look(getpid(), getpid()) == OW_SHARING_FOUND);
	CHECK(ow_sharers_look(child, child) == OW_SHARING_FOUND);
	end(child);
}

static void test_alone(void)
{
	pid_t child = start(0);

	CHECK(ow_sharers_look(child, child) == OW_SHARING_NONE);
	end(child);
}

/* A process that has ended shares nothing with another one that has, or the kernel's. */
static void test_ended(void)
{
	pid_t first = fork(), second = first ? fork() : 0;

	if (first == 0 || second == 0)
		_exit(0);
	waitid(P_PID, (id_t)first, NULL, WEXITED | WNOWAIT);
	waitid(P_PID, (id_t)second, NULL, WEXITED | WNOWAIT);
	CHECK(ow_sharers_look(first, first) == OW_SHARING_NONE);
	waitpid(first, NULL, 0);
	waitpid(second, NULL, 0);
}

/* What can't be looked through may have one. */
static void test_not_known(void)
{
	struct rlimit old, none;
	enum ow_sharing child_has;
	pid_t child = start(0);

	CHECK(getrlimit(RLIMIT_NOFILE, &old) == 0);
	none = old;
	none.rlim_cur = 0;
	CHECK(setrlimit(RLIMIT_NOFILE, &none) == 0);
	child_has = ow_sharers_look(child, child);
	CHECK(setrlimit(RLIMIT_NOFILE, &old) == 0);
	CHECK(child_has == OW_SHARING_UNKNOWN);
	end(child);
}

int main(void)
{
	static const struct test tests[] = {
		{ "a process with the memory", test_shared },
		{ "none", test_alone },
		{ "none of a process that has ended", test_ended },
		{ "it can't be known", test_not_known },
	};

	return test_main(tests, OW_ARRAY_SIZE(tests));
}
