// SPDX-License-Identifier: BSD-2-Clause
/* Processes that are there, that have ended, and that are there in part. */
#include "alive.h"

#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "test.h"

/* Is the process there that has that number now? */
static bool is_there(pid_t pid)
{
	struct alive a = { 0 };
	bool is;

	CHECK(alive_add(&a, pid));
	is = alive_is_any(&a);
	alive_free(&a);
	return is;
}

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
	struct alive a = { 0 };

	CHECK(is_there(getpid()));
	CHECK(!is_there(1 << 30)); /* more than there can be */
	CHECK(!alive_is_any(&a));
	CHECK(alive_add(&a, 1 << 30) && !alive_is_any(&a));
	CHECK(alive_add(&a, getpid()) && alive_is_any(&a));
	alive_free(&a);
}

static void test_zombie(void)
{
	siginfo_t info;
	pid_t pid = fork();

	if (pid == 0)
		_exit(0);
	CHECK(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT) == 0);
	CHECK(!is_there(pid));
	waitpid(pid, NULL, 0);
	CHECK(!is_there(pid));
}

static void test_headless(void)
{
	pid_t pid = fork_headless();
	char path[64], state = 0;
	FILE *stat;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	while (state != 'Z') {
		CHECK(is_there(pid));
		stat = fopen(path, "r");
		CHECK(stat && fscanf(stat, "%*s %*s %c", &state) == 1);
		fclose(stat);
	}
	CHECK(is_there(pid));
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	CHECK(!is_there(pid));
}

/* A process that gets the number of one that has ended; or 0. */
static pid_t fork_with_number(pid_t number)
{
	FILE *last;
	pid_t pid;
	int i;

	for (i = 0; i < 1000; i++) {
		last = fopen("/proc/sys/kernel/ns_last_pid", "w");
		if (!last)
			return 0;
		fprintf(last, "%d", (int)number - 1);
		if (fclose(last))
			return 0;
		pid = fork();
		if (pid == 0)
			pause();
		if (pid == number)
			return pid;
		kill(pid, SIGKILL);
		waitpid(pid, NULL, 0);
	}
	return 0;
}

static void test_number_of_another(void)
{
	struct alive a = { 0 };
	pid_t pid = fork();

	if (pid == 0)
		for (;;)
			pause();
	CHECK(alive_add(&a, pid) && alive_is_any(&a));
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	CHECK(!alive_is_any(&a));
	/* Only root may choose numbers. */
	if (fork_with_number(pid)) {
		CHECK(!alive_is_any(&a) && is_there(pid));
		kill(pid, SIGKILL);
		waitpid(pid, NULL, 0);
	}
	alive_free(&a);
}

static const struct test tests[] = {
	{ "those that are there", test_there },
	{ "who has ended is not", test_zombie },
	{ "who lost the first thread is", test_headless },
	{ "who got the number of one is not", test_number_of_another },
};

int main(void)
{
	return test_main(tests, OW_ARRAY_SIZE(tests));
}
