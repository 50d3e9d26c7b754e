// SPDX-License-Identifier: BSD-2-Clause
/* outwind stack: the stacks of a process or of a core file. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "commands.h"

#include "stackrequest.h"
#include "stackwalks.h"
#include "viewnames.h"

/* All stacks as they are printed, and room for one with its names. */
struct stacks {
	struct stackwalks walks;
	struct ow_view_frame *views;
	struct viewnames names;
};

static bool is_chosen(const struct stack_request *r, struct ow_capture *c,
		      size_t i)
{
	return !r->options.states ||
	       strchr(r->options.states, ow_capture_thread(c, i)->state);
}

/* Choose the threads that are shown.  Return false if memory runs out. */
static bool list_threads(const struct stack_request *r, struct ow_capture *c,
			 struct ow_symbolizer *symbolizer,
			 struct stackwalks *walks)
{
	size_t i, at, nr = ow_capture_nr_threads(c);

	if (!stackwalks_init(walks, c, symbolizer, r->max_frames, nr))
		return false;
	for (i = 0; i < nr; i++) {
		at = r->writer->backwards ? nr - 1 - i : i;
		if (is_chosen(r, c, at))
			stackwalks_add(walks, at);
	}
	return true;
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

/* Print the i-th stack; EXIT_SOME if it is not whole. */
static int print_thread(const struct stack_request *r, struct ow_capture *c,
			struct stacks *s, size_t i,
			const struct ow_frame *frames)
{
	const struct stackwalk *stack = &s->walks.list[i];
	const struct ow_thread *thread = ow_capture_thread(c, stack->thread);
	size_t nr = viewtext_fit(s->names.text, stack->nr);
	bool is_cut = nr < stack->nr;
	const struct ow_view view = {
		.pid = ow_capture_pid(c),
		.program = ow_capture_program(c),
		.is_core = r->is_core,
		.thread = thread,
		.number = r->writer->backwards ? s->walks.nr - i : i + 1,
		.syscall = ow_capture_syscall_name(c, thread),
		.frames = s->views,
		.nr = nr,
		.end = is_cut ? OW_END_LIMIT : stack->end,
		.why = &stack->why,
	};

	if (!viewnames_fill(&s->names, s->walks.symbolizer, frames, nr,
			    s->views)) {
		complain("out of memory");
		return EXIT_SOME;
	}
	r->writer->thread(stdout, &view, i == 0, r->showing);
	if (r->writer->stacks_only && !is_cut)
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

static void say(const char *line)
{
	complain("%s", line);
}

static int print_threads(const struct stack_request *r, struct ow_capture *c,
			 struct stacks *s)
{
	const struct ow_frame *frames;
	int status = EXIT_WELL;
	size_t i;

	for (i = 0; i < s->walks.nr; i++) {
		frames = stackwalks_frames(&s->walks, i);
		if (!frames) {
			complain("out of memory");
			return EXIT_SOME;
		}
		status |= print_thread(r, c, s, i, frames);
	}
	return status;
}

static int print_all(const struct stack_request *r, struct ow_capture *c,
		     struct stacks *s)
{
	struct viewtext text = { .longest = r->writer->longest };
	struct ow_capture_stats stats;
	int status;

	if (r->list_modules && r->writer == &ow_text_writer)
		print_modules(c);
	s->names.text = &text;
	r->writer->begin(stdout, ow_capture_pid(c), ow_capture_program(c));
	status = print_threads(r, c, s);
	r->writer->end(stdout);
	ow_capture_stats(c, &stats);
	if (r->writer == &ow_tbtext_writer && stats.stopped > 0)
		ow_tbtext_put_summary(stdout, &stats);
	return status | (viewtext_say(&text, say) ? EXIT_WELL : EXIT_SOME);
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
	if (!s.views || (!r->quiet && !symbolizer) ||
	    !list_threads(r, c, symbolizer, &s.walks))
		complain("%s", err.code ? err.msg : "out of memory");
	else
		status = print_all(r, c, &s);
	ow_symbolizer_destroy(symbolizer);
	stackwalks_deinit(&s.walks);
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
