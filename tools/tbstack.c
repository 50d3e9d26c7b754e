// SPDX-License-Identifier: BSD-2-Clause
/* tbstack: the stacks of a process, in the manner of tbstack 1.0. */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "missing.h"
#include "tbmessages.h"
#include "tbstacks.h"

#define STACK_SIZE     0xa00000 /* where there is no limit */
#define EXIT_BROKEN    1
#define EXIT_BAD_USAGE 2

static void print_chunks(const struct ow_capture *c)
{
	uint64_t start, size;
	size_t i;

	for (i = 0; ow_capture_region(c, i, &start, &size); i++)
		printf("chunk #%zu: %#llx-%#llx length: %lluK\n", i,
		       (unsigned long long)start,
		       (unsigned long long)(start + size),
		       (unsigned long long)size >> 10);
}

static int print_capture(const struct tb_args *args,
			 const struct tb_threads *chosen, struct ow_capture *c)
{
	struct ow_capture_stats stats;
	struct ow_symbolizer *symbolizer;
	struct ow_error err = { .msg = "out of memory" };
	int status = EXIT_BROKEN;

	if (args->verbose)
		print_chunks(c);
	symbolizer = ow_symbolizer_create(c, OW_SYMBOLIZER_RAW, &err);
	if (!symbolizer)
		tb_complain("", err.msg);
	else if (tb_stacks_print(c, chosen, args, symbolizer))
		status = 0;
	ow_symbolizer_destroy(symbolizer);
	ow_capture_stats(c, &stats);
	if (stats.stopped)
		ow_tbtext_put_summary(stdout, &stats);
	return status;
}

/* As much of a stack as a process started here could have. */
static size_t default_stack_size(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_STACK, &limit) || limit.rlim_cur == RLIM_INFINITY)
		return STACK_SIZE;
	return limit.rlim_cur;
}

static int print_stacks(const struct tb_args *args,
			const struct tb_threads *chosen)
{
	struct ow_capture_options options = {
		.stack_size = args->stack_size ? args->stack_size :
						 default_stack_size(),
		.tids = chosen->tids,
		.nr_tids = chosen->nr,
		.use_tables = true,
		.reading = args->reading,
		.stop_timeout_ms = args->stop_timeout_ms,
	};
	struct ow_capture *c;
	struct ow_error err;
	int status;

	c = ow_capture_process(args->pid, &options, &err);
	if (!c) {
		tb_complain_of_thread(
			args, chosen->tids ? chosen->tids[0] : args->pid, &err);
		if (args->verbose)
			tb_complain_maps(args->pid);
		return EXIT_BROKEN;
	}
	if (ow_capture_warning(c))
		tb_complain("", ow_capture_warning(c));
	status = print_capture(args, chosen, c);
	ow_capture_destroy(c);
	return status;
}

static int show_process(const struct tb_args *args)
{
	struct tb_threads chosen = { 0 };
	int status = EXIT_BROKEN;

	if (kill(args->pid, 0)) {
		tb_complain("", strerror(errno));
		return EXIT_BROKEN;
	}
	if (!args->states && !args->threads)
		status = print_stacks(args, &chosen);
	else if (tb_threads_choose(&chosen, args, stderr))
		status = chosen.nr ? print_stacks(args, &chosen) : 0;
	tb_threads_free(&chosen);
	return status;
}

static int finish(int status)
{
	if (missing_complain("tbstack", false) && status == 0)
		status = EXIT_BROKEN;
	if (fflush(stdout) == 0 && !ferror(stdout))
		return status;
	tb_complain("write output: ", strerror(errno));
	return EXIT_BROKEN;
}

int main(int argc, char **argv)
{
	struct tb_args args;
	int status = EXIT_BAD_USAGE;

	switch (tb_args_parse(&args, argc, argv, stderr)) {
	case TB_TASK_STACKS: status = show_process(&args); break;
	case TB_TASK_VERSION:
		puts("tbstack 1.0");
		status = 0;
		break;
	case TB_TASK_HELP:
		tb_args_print_usage(stderr, argv[0]);
		status = 0;
		break;
	case TB_TASK_USAGE: tb_args_print_usage(stderr, argv[0]); break;
	case TB_TASK_REFUSE: break;
	}
	free(args.threads);
	return finish(status);
}
