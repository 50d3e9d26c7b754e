// SPDX-License-Identifier: BSD-2-Clause
/* tbstack: the stacks of a process, in the manner of tbstack 1.0. */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "stackview.h"
#include "tbargs.h"
#include "tbthreads.h"

#define MOST_FRAMES    1024
#define STACK_SIZE     0xa00000 /* where there is no limit */
#define EXIT_BROKEN    1
#define EXIT_BAD_USAGE 2

/* Room for one stack, and one frame more, which tells that it is too long. */
struct scratch {
	struct ow_frame frames[MOST_FRAMES + 1];
	struct ow_view_frame views[MOST_FRAMES + 1];
	struct ow_name names[MOST_FRAMES + 1];
};

/* Text for stderr may hold names that the target has chosen. */
static void complain(const char *what, const char *why)
{
	fflush(stdout);
	fputs(what, stderr);
	ow_view_put_clean(stderr, why);
	putc('\n', stderr);
}

/* That a thread could not be captured, as ptrace's failures are told. */
static void complain_of_thread(const struct tb_args *args, pid_t tid,
			       const struct ow_error *why)
{
	const char *what = tid == args->pid ? "attach: " : "PTRACE_ATTACH: ";
	char text[512];

	if (why->code == OW_CODE_TIMEOUT) {
		snprintf(text, sizeof(text), "%d to stop", tid);
		if (args->waitpid_timeout && tid == args->pid)
			complain("timeout on waitpid", "");
		else
			complain("timeout waiting for thread ", text);
		return;
	}
	snprintf(text, sizeof(text), "%s%s (thread %d)",
		 why->code == OW_CODE_PERMISSION ? "Operation not permitted: " :
		 why->code == OW_CODE_ABSENT     ? "No such process: " :
						   "",
		 why->msg, tid);
	complain(what, text);
}

static void print_maps(pid_t pid)
{
	char line[4096], path[32];
	FILE *maps;

	snprintf(path, sizeof(path), "/proc/%d/maps", pid);
	maps = fopen(path, "re");
	fprintf(stderr, "maps of %d:\n", pid);
	while (maps && fgets(line, sizeof(line), maps)) {
		line[strcspn(line, "\n")] = '\0';
		complain("", line);
	}
	if (maps)
		fclose(maps);
}

/* libunwind's error of the same meaning (libunwind-common.h). */
static int libunwind_code(enum ow_end end)
{
	static const signed char codes[OW_NR_ENDS] = {
		[OW_END_NO_MODULE] = -6,   /* UNW_EINVALIDIP */
		[OW_END_NO_CFI] = -10,     /* UNW_ENOINFO */
		[OW_END_BAD_RULE] = -8,    /* UNW_EINVAL */
		[OW_END_UNSUPPORTED] = -9, /* UNW_EBADVERSION */
		[OW_END_FAULT] = -8,
		[OW_END_UNKNOWN] = -3, /* UNW_EBADREG */
		[OW_END_CYCLE] = -7,   /* UNW_EBADFRAME */
	};

	return codes[end] ? codes[end] : -1;
}

static void complain_of_break(const struct tb_args *args,
			      const struct ow_view *view)
{
	unsigned long long pc = view->nr ? view->frames[view->nr - 1].frame.pc :
					   0;
	char text[512];

	if (view->end == OW_END_NO_MODULE) {
		snprintf(text, sizeof(text), "%#llx", pc);
		complain("cannot find region of memory containing ", text);
	}
	if (!args->verbose)
		return;
	snprintf(text, sizeof(text), "n=%zu rc=%d (thread %d: %s)",
		 view->nr ? view->nr - 1 : 0, libunwind_code(view->end),
		 view->thread->tid, view->why->msg);
	complain("unwind step failed: ", text);
}

/* Walk and name thread i of the capture. */
static void fill_view(struct ow_view *view, struct ow_error *why,
		      struct ow_capture *c, size_t i, struct scratch *s,
		      struct ow_symbolizer *symbolizer)
{
	size_t k;

	view->nr = ow_capture_walk(c, i, s->frames, MOST_FRAMES + 1, &view->end,
				   why);
	if (view->nr > MOST_FRAMES) {
		view->nr = MOST_FRAMES;
		view->end = OW_END_LIMIT;
	}
	for (k = 0; k < view->nr; k++) {
		s->views[k].frame = s->frames[k];
		s->views[k].names = &s->names[k];
		s->views[k].nr_names = ow_symbolizer_name(
			symbolizer, &s->frames[k], &s->names[k], 1);
	}
}

static int print_thread(const struct tb_args *args, struct ow_capture *c,
			size_t i, size_t number, char state, struct scratch *s,
			struct ow_symbolizer *symbolizer)
{
	struct ow_thread t = *ow_capture_thread(c, i);
	struct ow_error why = t.why;
	struct ow_view view = {
		.pid = ow_capture_pid(c),
		.program = ow_capture_program(c),
		.thread = &t,
		.number = number,
		.frames = s->views,
		.why = &why,
	};

	if (state)
		t.state = state;
	if (t.captured)
		fill_view(&view, &why, c, i, s, symbolizer);
	else
		complain_of_thread(args, t.tid, &why);
	ow_tbtext_writer.thread(stdout, &view, false,
				(args->show_sp ? OW_VIEW_SP : 0) |
					(args->show_state ? OW_VIEW_STATES :
							    0));
	if (!t.captured)
		return EXIT_BROKEN;
	if (view.end == OW_END_OUTERMOST || view.end == OW_END_LIMIT)
		return 0;
	complain_of_break(args, &view);
	return EXIT_BROKEN;
}

/* Where the capture has tid; *hint is where to begin, as orders are alike. */
static bool find_thread(const struct ow_capture *c, pid_t tid, size_t *hint)
{
	size_t i, nr = ow_capture_nr_threads(c);

	for (i = 0; i < nr; i++, *hint = (*hint + 1) % nr)
		if (ow_capture_thread(c, *hint)->tid == tid)
			return true;
	return false;
}

static int print_threads(const struct tb_args *args,
			 const struct tb_threads *chosen, struct ow_capture *c,
			 struct scratch *s, struct ow_symbolizer *symbolizer)
{
	size_t i, at = 0;
	int status = 0;

	if (!chosen->tids) {
		for (i = 0; i < ow_capture_nr_threads(c); i++)
			status |= print_thread(args, c, i, i + 1, '\0', s,
					       symbolizer);
		return status;
	}
	for (i = 0; i < chosen->nr; i++)
		if (find_thread(c, chosen->tids[i], &at))
			status |= print_thread(
				args, c, at, chosen->numbers[i],
				chosen->states ? chosen->states[i] : '\0', s,
				symbolizer);
	return status;
}

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
	struct scratch *s = calloc(1, sizeof(*s));
	struct ow_capture_stats stats;
	struct ow_symbolizer *symbolizer;
	struct ow_error err = { .msg = "out of memory" };
	int status = EXIT_BROKEN;

	symbolizer = s ? ow_symbolizer_create(c, OW_SYMBOLIZER_RAW, &err) :
			 NULL;
	if (args->verbose)
		print_chunks(c);
	if (symbolizer)
		status = print_threads(args, chosen, c, s, symbolizer);
	else
		complain("", err.msg);
	ow_symbolizer_destroy(symbolizer);
	free(s);
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
		complain_of_thread(
			args, chosen->tids ? chosen->tids[0] : args->pid, &err);
		if (args->verbose)
			print_maps(args->pid);
		return EXIT_BROKEN;
	}
	status = print_capture(args, chosen, c);
	ow_capture_destroy(c);
	return status;
}

static int show_process(const struct tb_args *args)
{
	struct tb_threads chosen = { 0 };
	int status = EXIT_BROKEN;

	if (kill(args->pid, 0)) {
		complain("", strerror(errno));
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
	if (fflush(stdout) == 0 && !ferror(stdout))
		return status;
	complain("write output: ", strerror(errno));
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
