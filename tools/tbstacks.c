// SPDX-License-Identifier: BSD-2-Clause
#include "tbstacks.h"

#include <stdlib.h>

#include "stackview.h"
#include "stackwalks.h"
#include "tbmessages.h"
#include "viewtext.h"

#define MOST_FRAMES 1024

/* A thread as it is shown. */
struct shown {
	struct ow_thread thread;
	size_t number; /* in its heading */
};

/* All stacks as they are printed, and room for one with its names. */
struct stacks {
	struct stackwalks
		walks;       /* with one frame more: a stack is too long then */
	struct shown *shown; /* one of each */
	struct ow_view_frame views[MOST_FRAMES];
	struct ow_name names[MOST_FRAMES];
	struct viewtext text;
};

static struct shown *add(struct stacks *s, const struct ow_capture *c,
			 size_t at, size_t number)
{
	struct shown *shown = &s->shown[s->walks.nr];

	*shown = (struct shown){ *ow_capture_thread(c, at), number };
	stackwalks_add(&s->walks, at);
	return shown;
}

/* Where the capture has tid; *at is where to begin, as orders are alike. */
static bool find_thread(const struct ow_capture *c, pid_t tid, size_t *at)
{
	size_t i, nr = ow_capture_nr_threads(c);

	for (i = 0; i < nr; i++, *at = (*at + 1) % nr)
		if (ow_capture_thread(c, *at)->tid == tid)
			return true;
	return false;
}

static void list_chosen(struct stacks *s, const struct ow_capture *c,
			const struct tb_threads *chosen)
{
	struct shown *shown;
	size_t i, at = 0;

	for (i = 0; i < chosen->nr; i++) {
		if (!find_thread(c, chosen->tids[i], &at))
			continue;
		shown = add(s, c, at, chosen->numbers[i]);
		/* The letter shown is the one that was asked for. */
		if (chosen->states)
			shown->thread.state = chosen->states[i];
	}
}

/* All stacks; false if there is no memory. */
static bool list_stacks(struct stacks *s, struct ow_capture *c,
			const struct tb_threads *chosen,
			struct ow_symbolizer *symbolizer)
{
	size_t i, nr = chosen->tids ? chosen->nr : ow_capture_nr_threads(c);

	s->text.longest = ow_tbtext_writer.longest;
	s->shown = calloc(nr + 1, sizeof(*s->shown));
	if (!stackwalks_init(&s->walks, c, symbolizer, MOST_FRAMES + 1, nr) ||
	    !s->shown)
		return false;
	if (chosen->tids)
		list_chosen(s, c, chosen);
	for (i = 0; !chosen->tids && i < nr; i++)
		add(s, c, i, i + 1);
	return true;
}

static bool print_stack(struct stacks *s, size_t at,
			const struct ow_frame *frames,
			const struct tb_args *args)
{
	const struct stackwalk *stack = &s->walks.list[at];
	const struct ow_thread *thread = &s->shown[at].thread;
	bool has_none = thread->why.code == OW_CODE_NO_STACK;
	size_t most = stack->nr > MOST_FRAMES ? MOST_FRAMES : stack->nr;
	size_t nr = viewtext_fit(&s->text, most);
	bool is_long = nr < stack->nr;
	unsigned int flags = (args->show_sp ? OW_VIEW_SP : 0) |
			     (args->show_state ? OW_VIEW_STATES : 0);
	const struct ow_view view = {
		.pid = args->pid,
		.thread = thread,
		.number = s->shown[at].number,
		.frames = s->views,
		.nr = nr,
		.end = is_long ? OW_END_LIMIT : stack->end,
		.why = &stack->why,
	};
	struct ow_view_frame *f = s->views;
	size_t i;

	for (i = 0; i < view.nr; i++, f++) {
		f->frame = frames[i];
		f->names = &s->names[i];
		f->nr_names = ow_symbolizer_name(s->walks.symbolizer, &f->frame,
						 &s->names[i], 1);
		if (f->nr_names)
			viewtext_take(&s->text, &s->names[i], 1);
	}
	if (!thread->captured && !has_none)
		tb_complain_of_thread(args, thread->tid, &thread->why);
	ow_tbtext_writer.thread(stdout, &view, at == 0, flags);
	if (has_none)
		return true;
	if (!thread->captured)
		return false;
	if (view.end == OW_END_OUTERMOST || view.end == OW_END_LIMIT)
		return true;
	tb_complain_of_break(args, &view);
	return false;
}

static void say(const char *line)
{
	tb_complain("", line);
}

static bool print_stacks(struct stacks *s, const struct tb_args *args)
{
	const struct ow_frame *frames;
	bool whole = true;
	size_t i;

	for (i = 0; i < s->walks.nr; i++) {
		frames = stackwalks_frames(&s->walks, i);
		if (!frames) {
			tb_complain("", "out of memory");
			return false;
		}
		whole &= print_stack(s, i, frames, args);
	}
	return viewtext_say(&s->text, say) && whole;
}

bool tb_stacks_print(struct ow_capture *c, const struct tb_threads *chosen,
		     const struct tb_args *args,
		     struct ow_symbolizer *symbolizer)
{
	struct stacks *s = calloc(1, sizeof(*s));
	bool whole = false;

	if (s && list_stacks(s, c, chosen, symbolizer))
		whole = print_stacks(s, args);
	else
		tb_complain("", "out of memory");
	if (s) {
		stackwalks_deinit(&s->walks);
		free(s->shown);
	}
	free(s);
	return whole;
}
