// SPDX-License-Identifier: BSD-2-Clause
#include "counts.h"

#include "delegate.h"
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>
#include <valgrind/callgrind.h>

/*
 * The linker has this called for ow_delegate_run() (--wrap).  valgrind takes a
 * process that shares its parent's memory for a thread, and ends with it: there,
 * the program itself does the work.
 */
enum ow_delegation
__wrap_ow_delegate_run(void (*run)(void *arg), void *arg,
		       const struct ow_delegate_limits *limits, pid_t *pid_ret);
enum ow_delegation
__real_ow_delegate_run(void (*run)(void *arg), void *arg,
		       const struct ow_delegate_limits *limits, pid_t *pid_ret);

enum ow_delegation
__wrap_ow_delegate_run(void (*run)(void *arg), void *arg,
		       const struct ow_delegate_limits *limits, pid_t *pid_ret)
{
	if (!RUNNING_ON_VALGRIND)
		return __real_ow_delegate_run(run, arg, limits, pid_ret);
	if (pid_ret)
		*pid_ret = 0;
	run(arg);
	return OW_DELEGATION_DONE;
}

static void run_child(const char *self, const char *arg)
{
	char out[PATH_MAX];
	int null = open("/dev/null", O_WRONLY);

	snprintf(out, sizeof(out), "--callgrind-out-file=%s.counts", self);
	dup2(null, STDOUT_FILENO);
	dup2(null, STDERR_FILENO);
	execlp("valgrind", "valgrind", "--tool=callgrind",
	       "--collect-atstart=no", out, self, arg, (char *)NULL);
	_exit(127);
}

bool bench_count_run(const char *self, const char *arg)
{
	int status;
	pid_t pid = fork();

	if (pid == 0)
		run_child(self, arg);
	return pid > 0 && waitpid(pid, &status, 0) == pid && status == 0;
}

void bench_count_clear(void)
{
	CALLGRIND_ZERO_STATS;
}

void bench_count_done(void)
{
	CALLGRIND_DUMP_STATS;
}

uint64_t bench_count(const char *self, size_t n)
{
	char path[PATH_MAX], line[256];
	unsigned long long count = 0;
	FILE *f;

	snprintf(path, sizeof(path), "%s.counts.%zu", self, n);
	f = fopen(path, "r");
	if (!f)
		return 0;
	while (fgets(line, sizeof(line), f))
		if (sscanf(line, "totals: %llu", &count) == 1)
			break;
	fclose(f);
	unlink(path);
	return count;
}
