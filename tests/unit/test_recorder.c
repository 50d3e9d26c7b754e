// SPDX-License-Identifier: BSD-2-Clause
/* Sampling by the engine that needs nothing of the kernel. */
#include <outwind/record.h>

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "test.h"

#define TOO_LONG 300 /* seconds, for what takes some milliseconds */

/* As often as can be, and no longer than was asked for. */
static void test_too_often(void)
{
	pid_t pid = fork();
	const struct ow_recorder_options options = {
		.engine = OW_ENGINE_PTRACE,
		.events = OW_RECORD_CPU,
		.pids = &pid,
		.nr_pids = 1,
		.frequency = UINT32_MAX,
	};
	struct ow_recorder_stats stats;
	struct ow_recorder *r;
	struct ow_error err;

	if (pid == 0)
		for (;;)
			pause();
	r = ow_recorder_open(&options, &err);
	CHECK(r && !ow_recorder_start(r, &err));
	alarm(TOO_LONG);
	CHECK(r && !ow_recorder_wait(r, 10, &err));
	alarm(0);
	if (r)
		ow_recorder_stats(r, &stats);
	CHECK(r && stats.frequency > 0 && stats.frequency < UINT32_MAX);
	ow_recorder_close(r);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

int main(void)
{
	static const struct test tests[] = {
		{ "more often than can be", test_too_often },
	};

	return test_main(tests, OW_ARRAY_SIZE(tests));
}
