// SPDX-License-Identifier: BSD-2-Clause
/* Whose threads are taken hold of. */
#include "stopper.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "monotonic.h"
#include "procfs.h"
#include "test.h"

static pid_t start_child(void)
{
	pid_t child = fork();

	if (child == 0)
		for (;;)
			pause();
	if (child < 0)
		abort();
	return child;
}

static int open_tasks(pid_t pid)
{
	char path[32];
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		abort();
	return fd;
}

static void test_own(void)
{
	pid_t child = start_child();
	int tasks = open_tasks(child);
	struct ow_stop s;

	CHECK(ow_tasks_has(tasks, child));
	CHECK(ow_stop_seize(&s, tasks, child, child));
	ow_stop_interrupt(&s);
	ow_stop_wait(&s, ow_now_ns() + 10000000000);
	CHECK(s.state == OW_STOP_STOPPED && s.by_us && !s.gone);
	ow_stop_release(&s);
	CHECK(ow_status_number(child, "TracerPid:") == 0);
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	CHECK(!ow_tasks_has(tasks, child));
	CHECK(!ow_stop_seize(&s, tasks, child, child) && s.gone);
	close(tasks);
}

/* The id is of another process than the one whose threads are looked at. */
static void test_foreign(void)
{
	pid_t child = start_child(), other = start_child();
	int tasks = open_tasks(child);
	struct ow_stop s;

	CHECK(!ow_tasks_has(tasks, other));
	CHECK(!ow_stop_seize(&s, tasks, child, other));
	CHECK(s.gone && s.state == OW_STOP_NONE);
	CHECK(s.why.code == OW_CODE_ABSENT);
	CHECK(ow_status_number(other, "TracerPid:") == 0);
	kill(child, SIGKILL);
	kill(other, SIGKILL);
	waitpid(child, NULL, 0);
	waitpid(other, NULL, 0);
	close(tasks);
}

int main(void)
{
	static const struct test tests[] = {
		{ "a thread of the process", test_own },
		{ "a thread of another process", test_foreign },
	};

	return test_main(tests, OW_ARRAY_SIZE(tests));
}
