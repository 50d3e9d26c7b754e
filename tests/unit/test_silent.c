// SPDX-License-Identifier: BSD-2-Clause
/* Processes that the kernel is not asked about again. */
#include "silent.h"

#include <linux/sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "test.h"

/* A process that waits, of that id, or of any if it is 0; or -1. */
static pid_t begin_process(pid_t id)
{
	struct clone_args args = { .exit_signal = SIGCHLD,
				   .set_tid = id > 0 ? (uintptr_t)&id : 0,
				   .set_tid_size = id > 0 };
	long pid = syscall(SYS_clone3, &args, sizeof(args));

	if (pid == 0)
		for (;;)
			pause();
	return (pid_t)pid;
}

static void end_process(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

static void test_known(void)
{
	pid_t one = begin_process(0), other = begin_process(0);

	if (one < 0 || other < 0)
		abort();
	CHECK(!ow_silent_has(one));
	ow_silent_note(one);
	CHECK(ow_silent_has(one) && !ow_silent_has(other));
	end_process(other);
	ow_silent_note(other);
	ow_silent_note(0);
	CHECK(ow_silent_has(one) && !ow_silent_has(other) && !ow_silent_has(0));
	end_process(one);
	CHECK(!ow_silent_has(one));
}

/* Return true if the kernel tells processes of one id apart (Linux 6.9). */
static bool are_told_apart(pid_t one, pid_t other)
{
	int fds[] = { (int)syscall(SYS_pidfd_open, one, 0),
		      (int)syscall(SYS_pidfd_open, other, 0) };
	struct stat a, b;
	bool differ = !fstat(fds[0], &a) && !fstat(fds[1], &b) &&
		      a.st_ino != b.st_ino;

	close(fds[0]);
	close(fds[1]);
	return differ;
}

/* Another process has got the id. */
static void test_id_again(void)
{
	pid_t pid = begin_process(0), again;
	bool are_apart;

	if (pid < 0)
		abort();
	are_apart = are_told_apart(pid, getpid());
	ow_silent_note(pid);
	end_process(pid);
	again = begin_process(pid);
	if (again < 0) {
		printf("# no id may be chosen\n");
		return;
	}
	CHECK(again == pid && ow_silent_has(again) == !are_apart);
	ow_silent_note(again);
	CHECK(ow_silent_has(again));
	end_process(again);
}

/* The last ones only. */
static void test_many(void)
{
	pid_t pids[9];
	size_t i;

	for (i = 0; i < OW_ARRAY_SIZE(pids); i++) {
		pids[i] = begin_process(0);
		if (pids[i] < 0)
			abort();
		ow_silent_note(pids[i]);
	}
	CHECK(!ow_silent_has(pids[0]));
	for (i = 1; i < OW_ARRAY_SIZE(pids); i++)
		CHECK(ow_silent_has(pids[i]));
	for (i = 0; i < OW_ARRAY_SIZE(pids); i++)
		end_process(pids[i]);
}

int main(void)
{
	static const struct test tests[] = {
		{ "one that is known, and others", test_known },
		{ "another process of a known one's id", test_id_again },
		{ "more than are known", test_many },
	};

	return test_main(tests, OW_ARRAY_SIZE(tests));
}
