// SPDX-License-Identifier: BSD-2-Clause
/* Processes that are there, that have ended, and that are there in part. */
#include "alive.h"

#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "test.h"

static void *wait_for_ever(void *arg)
{
	/* The first thread has ended by then, or is about to. */
	for (;;)
		pause();
	return arg;
}

/* A process whose first thread ends before the other one. */
static pid_t fork_headless(void)
{
	pthread_t other;
	pid_t pid = fork();

	if (pid)
		return pid;
	pthread_create(&other, NULL, wait_for_ever, NULL);
	pthread_exit(NULL);
}

static void test_there(void)
{
	const pid_t some[] = { 1 << 30, getpid() };

	CHECK(is_alive(getpid()));
	CHECK(!is_alive(1 << 30)); /* more than there can be */
	CHECK(is_any_alive(some, 2) && !is_any_alive(some, 1));
	CHECK(!is_any_alive(some, 0));
}

static void test_zombie(void)
{
	siginfo_t info;
	pid_t pid = fork();

	if (pid == 0)
		_exit(0);
	CHECK(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT) == 0);
	CHECK(!is_alive(pid));
	waitpid(pid, NULL, 0);
	CHECK(!is_alive(pid));
}

static void test_headless(void)
{
	pid_t pid = fork_headless();
	char path[64], state = 0;
	FILE *stat;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	while (state != 'Z') {
		CHECK(is_alive(pid));
		stat = fopen(path, "r");
		CHECK(stat && fscanf(stat, "%*s %*s %c", &state) == 1);
		fclose(stat);
	}
	CHECK(is_alive(pid));
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	CHECK(!is_alive(pid));
}

static const struct test tests[] = {
	{ "those that are there", test_there },
	{ "who has ended is not", test_zombie },
	{ "who lost the first thread is", test_headless },
};

int main(void)
{
	return test_main(tests, OW_ARRAY_SIZE(tests));
}
