// SPDX-License-Identifier: BSD-2-Clause
#include "tbstacks.h"

#include <stdlib.h>

#include "grow.h"
#include "stackview.h"
#include "tbmessages.h"
#include "viewtext.h"

#define MOST_FRAMES 1024

/* Walk thread i, with one frame more, which tells that it is too long. */
static bool walk(struct tb_stacks *s, struct ow_capture *c, size_t i,
		 size_t number)
{
	struct tb_stack *stack = &s->list[s->nr++];

	stack->thread = *ow_capture_thread(c, i);
	stack->number = number;
	stack->first = s->nr_frames;
	if (!stack->thread.captured)
		return true;
	if (!ow_grow(&s->frames, &s->room_frames,
		     s->nr_frames + MOST_FRAMES + 1, sizeof(*s->frames)))
		return false;
	stack->nr = ow_capture_walk(c, i, s->frames + s->nr_frames,
				    MOST_FRAMES + 1, &stack->end, &stack->why);
	if (stack->nr > MOST_FRAMES) {
		stack->nr = MOST_FRAMES;
		stack->end = OW_END_LIMIT;
	}
	s->nr_frames += stack->nr;
	return true;
}

static bool walk_all(struct tb_stacks *s, struct ow_capture *c)
{
	size_t i;

	for (i = 0; i < ow_capture_nr_threads(c); i++)
		if (!walk(s, c, i, i + 1))
			return false;
	return true;
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

static bool walk_chosen(struct tb_stacks *s, struct ow_capture *c,
			const struct tb_threads *chosen)
{
	size_t i, at = 0;

	for (i = 0; i < chosen->nr; i++) {
		if (!find_thread(c, chosen->tids[i], &at))
			continue;
		if (!walk(s, c, at, chosen->numbers[i]))
			return false;
		/* The letter shown is the one that was asked for. */
		if (chosen->states)
			s->list[s->nr - 1].thread.state = chosen->states[i];
	}
	return true;
}

bool tb_stacks_walk(struct tb_stacks *ret, struct ow_capture *c,
		    const struct tb_threads *chosen)
{
	size_t nr = chosen->tids ? chosen->nr : ow_capture_nr_threads(c);

	*ret = (struct tb_stacks){ 0 };
	ret->list = calloc(nr + 1, sizeof(*ret->list));
	if (!ret->list)
		return false;
	return chosen->tids ? walk_chosen(ret, c, chosen) : walk_all(ret, c);
}

/* Room for one stack with its names. */
struct names {
	struct ow_view_frame frames[MOST_FRAMES];
	struct ow_name names[MOST_FRAMES];
	struct viewtext text;
};

static bool print_stack(const struct tb_stacks *s, const struct tb_stack *stack,
			const struct tb_args *args, struct names *names,
			struct ow_symbolizer *symbolizer)
{
	unsigned int flags = (args->show_sp ? OW_VIEW_SP : 0) |
			     (args->show_state ? OW_VIEW_STATES : 0);
	const struct ow_view view = {
		.pid = args->pid,
		.thread = &stack->thread,
		.number = stack->number,
		.frames = names->frames,
		.nr = stack->nr,
		.end = stack->end,
		.why = &stack->why,
	};
	bool has_none = stack->thread.why.code == OW_CODE_NO_STACK;
	struct ow_view_frame *f = names->frames;
	size_t i;

	for (i = 0; i < stack->nr; i++, f++) {
		f->frame = s->frames[stack->first + i];
		f->names = &names->names[i];
		f->nr_names = ow_symbolizer_name(symbolizer, &f->frame,
						 &names->names[i], 1);
		if (f->nr_names)
			viewtext_take(&names->text, &names->names[i], 1);
	}
	if (!stack->thread.captured && !has_none)
		tb_complain_of_thread(args, stack->thread.tid,
				      &stack->thread.why);
	ow_tbtext_writer.thread(stdout, &view, stack == s->list, flags);
	if (has_none)
		return true;
	if (!stack->thread.captured)
		return false;
	if (stack->end == OW_END_OUTERMOST || stack->end == OW_END_LIMIT)
		return true;
	tb_complain_of_break(args, &view);
	return false;
}

/* Whether there are all names. */
static bool say_cut(const struct viewtext *text)
{
	char line[VIEWTEXT_LINE];

	if (!viewtext_line(text, line))
		return true;
	tb_complain("", line);
	return false;
}

bool tb_stacks_print(const struct tb_stacks *s, const struct tb_args *args,
		     struct ow_symbolizer *symbolizer)
{
	struct names *names = malloc(sizeof(*names));
	bool whole = true;
	size_t i;

	if (!names) {
		tb_complain("out of memory", "");
		return false;
	}
	names->text = (struct viewtext){ .longest = ow_tbtext_writer.longest };
	ow_symbolizer_prepare(symbolizer, s->frames, s->nr_frames);
	for (i = 0; i < s->nr; i++)
		whole &= print_stack(s, &s->list[i], args, names, symbolizer);
	whole &= say_cut(&names->text);
	free(names);
	return whole;
}

void tb_stacks_free(struct tb_stacks *s)
{
	free(s->list);
	free(s->frames);
}
