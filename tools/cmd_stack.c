// SPDX-License-Identifier: BSD-2-Clause
/* outwind stack: the stacks of a process or of a core file. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "commands.h"

#include "grow.h"
#include "stackrequest.h"
#include "viewnames.h"

/*
 * Frames that are walked before they are named, together, and printed.  A process may
 * have any number of threads, on few stacks.
 */
#define MANY_FRAMES (1U << 20)

/* One thread's stack; its frames are those of all stacks from first on. */
struct stack {
	const struct ow_thread *thread;
	size_t at;     /* the thread's place in the capture */
	size_t number; /* the thread's, among those that are shown */
	size_t first, nr;
	enum ow_end end;
	struct ow_error why; /* where end is not OW_END_OUTERMOST */
};

/* All stacks as they are printed, and room for one with its names. */
struct stacks {
	struct stack *list;
	size_t nr;
	struct ow_frame *frames; /* of some stacks */
	size_t nr_frames, room_frames;
	struct ow_view_frame *views;
	struct viewnames names;
};

static void reverse(struct stack *list, size_t nr)
{
	struct stack *last = list + nr, first;

	for (; last - list > 1; list++) {
		first = *list;
		*list = *--last;
		*last = first;
	}
}

/* Choose the threads that are shown.  Return false if memory runs out. */
static bool list_threads(const struct stack_request *r, struct ow_capture *c,
			 struct stacks *s)
{
	size_t i, nr = ow_capture_nr_threads(c);
	const struct ow_thread *thread;

	s->list = calloc(nr + 1, sizeof(*s->list));
	if (!s->list)
		return false;
	for (i = 0; i < nr; i++) {
		thread = ow_capture_thread(c, i);
		if (r->options.states &&
		    !strchr(r->options.states, thread->state))
			continue;
		s->list[s->nr] = (struct stack){ .thread = thread,
						 .at = i,
						 .number = s->nr + 1 };
		s->nr++;
	}
	if (r->writer->backwards)
		reverse(s->list, s->nr);
	return true;
}

static bool walk_thread(const struct stack_request *r, struct ow_capture *c,
			struct stacks *s, struct stack *stack)
{
	stack->first = s->nr_frames;
	if (!stack->thread->captured)
		return true;
	if (!ow_grow(&s->frames, &s->room_frames, s->nr_frames + r->max_frames,
		     sizeof(*s->frames)))
		return false;
	stack->nr = ow_capture_walk(c, stack->at, s->frames + s->nr_frames,
				    r->max_frames, &stack->end, &stack->why);
	s->nr_frames += stack->nr;
	return true;
}

/*
 * Walk stacks from begin on until they have many frames, and prepare their names.  Return
 * where the next ones begin; or begin, if memory runs out.
 */
static size_t walk_some(const struct stack_request *r, struct ow_capture *c,
			struct stacks *s, size_t begin,
			struct ow_symbolizer *symbolizer)
{
	size_t i;

	s->nr_frames = 0;
	for (i = begin; i < s->nr && s->nr_frames < MANY_FRAMES; i++)
		if (!walk_thread(r, c, s, &s->list[i]))
			return begin;
	if (symbolizer)
		ow_symbolizer_prepare(symbolizer, s->frames, s->nr_frames);
	return i;
}

/* On stderr, why a stack is not whole. */
static void say_end(const struct stack_request *r, const struct ow_view *view)
{
	pid_t tid = view->thread->tid;

	if (view->thread->why.code == OW_CODE_NO_STACK)
		return;
	if (!view->thread->captured)
		complain("thread %d: %s", tid, view->thread->why.msg);
	else if (view->end == OW_END_LIMIT && r->limited)
		complain("thread %d: more frames than %zu", tid, r->max_frames);
	else if (view->end != OW_END_OUTERMOST)
		complain("thread %d: %s", tid, view->why->msg);
}

/* Print one thread; EXIT_SOME if it is not whole. */
static int print_thread(const struct stack_request *r, struct ow_capture *c,
			struct stacks *s, const struct stack *stack,
			struct ow_symbolizer *symbolizer)
{
	const struct ow_view view = {
		.pid = ow_capture_pid(c),
		.program = ow_capture_program(c),
		.is_core = r->is_core,
		.thread = stack->thread,
		.number = stack->number,
		.syscall = ow_capture_syscall_name(c, stack->thread),
		.frames = s->views,
		.nr = stack->nr,
		.end = stack->end,
		.why = &stack->why,
	};

	if (!viewnames_fill(&s->names, symbolizer, s->frames + stack->first,
			    stack->nr, s->views)) {
		complain("out of memory");
		return EXIT_SOME;
	}
	r->writer->thread(stdout, &view, stack == s->list, r->showing);
	if (r->writer->stacks_only)
		say_end(r, &view);
	if (view.thread->why.code == OW_CODE_NO_STACK)
		return EXIT_WELL;
	if (!view.thread->captured)
		return EXIT_SOME;
	if (view.end == OW_END_OUTERMOST)
		return EXIT_WELL;
	return view.end == OW_END_LIMIT && r->limited ? EXIT_WELL : EXIT_SOME;
}

static void print_modules(struct ow_capture *c)
{
	struct ow_module_info m;
	size_t i;

	for (i = 0; i < ow_capture_nr_modules(c); i++) {
		if (ow_capture_module(c, i, &m, NULL))
			continue;
		printf("%#llx-%#llx ", (unsigned long long)m.start,
		       (unsigned long long)m.end);
		ow_view_put_clean(stdout, m.path);
		printf("\n  [%s]\n", m.build_id);
	}
}

/* On stderr, if names are left out; return EXIT_SOME then. */
static int say_cut(const struct viewtext *text)
{
	char line[VIEWTEXT_LINE];

	if (!viewtext_line(text, line))
		return EXIT_WELL;
	complain("%s", line);
	return EXIT_SOME;
}

static int print_threads(const struct stack_request *r, struct ow_capture *c,
			 struct stacks *s, struct ow_symbolizer *symbolizer)
{
	int status = EXIT_WELL;
	size_t i, walked = 0;

	for (i = 0; i < s->nr; i++) {
		if (i == walked)
			walked = walk_some(r, c, s, i, symbolizer);
		if (i == walked) {
			complain("out of memory");
			return EXIT_SOME;
		}
		status |= print_thread(r, c, s, &s->list[i], symbolizer);
	}
	return status;
}

static int print_all(const struct stack_request *r, struct ow_capture *c,
		     struct stacks *s, struct ow_symbolizer *symbolizer)
{
	struct viewtext text = { .longest = r->writer->longest };
	struct ow_capture_stats stats;
	int status;

	if (r->list_modules && r->writer == &ow_text_writer)
		print_modules(c);
	s->names.text = &text;
	r->writer->begin(stdout, ow_capture_pid(c), ow_capture_program(c));
	status = print_threads(r, c, s, symbolizer);
	r->writer->end(stdout);
	ow_capture_stats(c, &stats);
	if (r->writer == &ow_tbtext_writer && stats.stopped > 0)
		ow_tbtext_put_summary(stdout, &stats);
	return status | say_cut(&text);
}

static void print_stats(const struct ow_capture *c)
{
	struct ow_capture_stats st;

	ow_capture_stats(c, &st);
	if (st.hypercalls)
		fprintf(stderr, "%u hypercalls, %u mappings\n", st.hypercalls,
			st.mappings);
	fprintf(stderr,
		"%u threads stopped for %.3f ms (each %.1f us median, %.1f us "
		"at most), %llu KiB of stacks copied\n",
		st.stopped, st.freeze_ns / 1e6, st.median_ns / 1e3,
		st.longest_ns / 1e3,
		(unsigned long long)(st.bytes_copied + 1023) / 1024);
}

/* On a terminal, while debug files are asked for; 0 files: that is over. */
static void print_asked(void *arg, uint64_t files, uint64_t bytes)
{
	(void)arg;
	if (files)
		fprintf(stderr, "\rdebuginfod: file %llu, %llu MiB\33[K",
			(unsigned long long)files,
			(unsigned long long)bytes >> 20);
	else
		fputs("\r\33[K", stderr);
}

static int print_stacks(const struct stack_request *r, struct ow_capture *c)
{
	struct ow_symbolizer *symbolizer = NULL;
	struct ow_error err = { 0 };
	struct stacks s = { 0 };
	int status = EXIT_NONE;

	if (!r->quiet)
		symbolizer = ow_symbolizer_create(
			c, r->naming | r->writer->naming, &err);
	if (symbolizer && isatty(STDERR_FILENO))
		ow_symbolizer_set_progress(symbolizer, print_asked, NULL);
	s.views = calloc(r->max_frames, sizeof(*s.views));
	if (!s.views || (!r->quiet && !symbolizer) || !list_threads(r, c, &s))
		complain("%s", err.code ? err.msg : "out of memory");
	else
		status = print_all(r, c, &s, symbolizer);
	ow_symbolizer_destroy(symbolizer);
	free(s.list);
	free(s.frames);
	free(s.views);
	viewnames_free(&s.names);
	return status;
}

/* On a terminal, for who waits. */
static void print_progress(void *arg, uint64_t done, uint64_t total)
{
	unsigned int *last = arg;
	unsigned int now =
		total ? (unsigned int)(done * 100.0 / (double)total) : 100;

	if (now == *last)
		return;
	*last = now;
	if (now < 100)
		fprintf(stderr, "\rdecompressing: %u %%", now);
	else
		fputs("\r\33[K", stderr);
}

static struct ow_capture *open_target(struct stack_request *r,
				      struct ow_error *err)
{
	if (r->domain)
		return xen_request_take(&r->xen, r->domain, &r->options, err);
	if (r->is_core)
		return ow_capture_file(r->target, r->exe, &r->options, err);
	return ow_capture_process(r->pid, &r->options, err);
}

static int run(struct stack_request *r)
{
	unsigned int percent = 0;
	struct ow_capture *c;
	struct ow_error err;
	int status;

	if (isatty(STDERR_FILENO)) {
		r->options.progress = print_progress;
		r->options.progress_arg = &percent;
	}
	c = open_target(r, &err);
	if (!c) {
		complain("%s", err.msg);
		return EXIT_NONE;
	}
	if (ow_capture_warning(c))
		complain("%s: %s", r->target, ow_capture_warning(c));
	status = print_stacks(r, c);
	if (r->is_core)
		complain_of_lacking(c);
	if (r->stats)
		print_stats(c);
	ow_capture_destroy(c);
	return status;
}

int cmd_stack(int argc, char **argv)
{
	struct stack_request r;
	int status = EXIT_WELL;

	switch (stack_request_parse(&r, argc, argv)) {
	case STACK_ASKED_WELL: status = run(&r); break;
	case STACK_ASKED_HELP: break;
	case STACK_ASKED_WRONG:
		stack_request_free(&r);
		fputs("see outwind stack --help\n", stderr);
		return EXIT_USAGE;
	}
	stack_request_free(&r);
	return finish_output(status);
}
