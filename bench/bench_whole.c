// SPDX-License-Identifier: BSD-2-Clause
/*
 * Whole runs of programs that print the stacks of a process, from the start of
 * the program to its end; their output goes to /dev/null.  The ways take turns,
 * so that whatever else the machine does falls on all of them.
 *
 * Arguments: what to call the process, a limit to the time with names in ms
 * (0: none), the outwind program, a folder for tables, and the process id.
 */
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "common.h"

#define RUNS     10
#define MOST_ARG 12

enum {
	NAMES,
	TABLES,
	QUIET,
	EU_NAMES,
	EU_QUIET,
	GDB,
	NR_WAYS
};

/* OUTWIND and PID stand for what they are called. */
static const struct way {
	const char *name;
	const char *argv[MOST_ARG];
	int runs;
	bool with_tables;
} ways[NR_WAYS] = {
	[NAMES] = { "outwind", { "OUTWIND", "stack", "PID" }, RUNS },
	[TABLES] = { "outwind, tables on disk",
		     { "OUTWIND", "stack", "PID" },
		     RUNS,
		     true },
	[QUIET] = { "outwind -q", { "OUTWIND", "stack", "-q", "PID" }, RUNS },
	[EU_NAMES] = { "eu-stack",
		       { "eu-stack", "-n", "0", "-p", "PID" },
		       RUNS },
	[EU_QUIET] = { "eu-stack -q",
		       { "eu-stack", "-q", "-n", "0", "-p", "PID" },
		       RUNS },
	[GDB] = { "gdb, once",
		  { "gdb", "-nx", "-batch", "-p", "PID", "-ex",
		    "thread apply all bt" },
		  1 },
};

struct job {
	const char *outwind, *pid;
	char empty[256], tables[256]; /* folders for XDG_CACHE_HOME */
	double wall_ms[NR_WAYS][RUNS], cpu_ms[NR_WAYS][RUNS];
	double faults[NR_WAYS][RUNS];
};

static double ms_of(struct timeval t)
{
	return t.tv_sec * 1e3 + t.tv_usec / 1e3;
}

/* Start a program without output, and wait for it; return its wait status. */
static int run_program(const char *const *argv, struct rusage *usage)
{
	posix_spawn_file_actions_t actions;
	int failed, status;
	pid_t pid;

	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
	posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0);
	posix_spawn_file_actions_adddup2(&actions, 1, 2);
	failed = posix_spawnp(&pid, argv[0], &actions, NULL,
			      (char *const *)argv, environ);
	posix_spawn_file_actions_destroy(&actions);
	if (failed)
		bench_die("%s: %s", argv[0], strerror(failed));
	while (wait4(pid, &status, 0, usage) < 0)
		if (errno != EINTR)
			bench_die("wait: %s", strerror(errno));
	return status;
}

static void fill_arguments(const struct job *job, const struct way *way,
			   const char **argv)
{
	size_t i;

	for (i = 0; i < MOST_ARG; i++) {
		argv[i] = way->argv[i];
		if (argv[i] && strcmp(argv[i], "OUTWIND") == 0)
			argv[i] = job->outwind;
		else if (argv[i] && strcmp(argv[i], "PID") == 0)
			argv[i] = job->pid;
	}
}

/* 1 is what is said of stacks that are cut, by outwind and by eu-stack. */
static void measure(struct job *job, int i, int run)
{
	const struct way *way = &ways[i];
	const char *argv[MOST_ARG];
	struct rusage usage;
	uint64_t began;
	int status;

	fill_arguments(job, way, argv);
	setenv("XDG_CACHE_HOME", way->with_tables ? job->tables : job->empty,
	       1);
	began = bench_now();
	status = run_program(argv, &usage);
	job->wall_ms[i][run] = (bench_now() - began) / 1e6;
	if (!WIFEXITED(status) || WEXITSTATUS(status) > 1)
		bench_die("%s of process %s failed", way->name, job->pid);
	job->cpu_ms[i][run] = ms_of(usage.ru_utime) + ms_of(usage.ru_stime);
	job->faults[i][run] = usage.ru_minflt;
}

static void make_tables(struct job *job)
{
	const char *argv[] = { job->outwind, "tables", job->pid, NULL };
	struct rusage usage;

	setenv("XDG_CACHE_HOME", job->tables, 1);
	run_program(argv, &usage);
}

static void print_job(struct job *job, const char *name, double limit)
{
	double wall[NR_WAYS];
	int i;

	printf("\nWhole run: %s\n%-26s %10s %7s %10s %8s\n", name, "", "ms",
	       "ratio", "CPU ms", "faults");
	for (i = 0; i < NR_WAYS; i++) {
		wall[i] = bench_median(job->wall_ms[i], ways[i].runs);
		printf("%-26s %10.2f %7.2f %10.2f %8.0f\n", ways[i].name,
		       wall[i], wall[i] / wall[NAMES],
		       bench_median(job->cpu_ms[i], ways[i].runs),
		       bench_median(job->faults[i], ways[i].runs));
	}
	if (limit > 0)
		printf("target: with names <= %.0f ms: %.1f, %s\n", limit,
		       wall[NAMES], bench_verdict(wall[NAMES] <= limit));
	printf("target: outwind -q <= 1.00 of eu-stack -q: %.2f, %s\n",
	       wall[QUIET] / wall[EU_QUIET],
	       bench_verdict(wall[QUIET] <= wall[EU_QUIET]));
}

int main(int argc, char **argv)
{
	static struct job job;
	int run, i;

	if (argc != 6)
		bench_die("usage: bench_whole NAME LIMIT OUTWIND FOLDER PID");
	job.outwind = argv[3];
	job.pid = argv[5];
	snprintf(job.empty, sizeof(job.empty), "%s/empty", argv[4]);
	snprintf(job.tables, sizeof(job.tables), "%s/tables", argv[4]);
	make_tables(&job);
	bench_rouse_cpu();
	for (run = 0; run < RUNS; run++)
		for (i = 0; i < NR_WAYS; i++)
			if (run < ways[i].runs)
				measure(&job, i, run);
	print_job(&job, argv[1], atof(argv[2]));
	return 0;
}
