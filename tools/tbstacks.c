// SPDX-License-Identifier: BSD-2-Clause
#include "tbstacks.h"

#include <stdlib.h>

#include "grow.h"
#include "stackview.h"
#include "tbmessages.h"
#include "viewtext.h"

#define MOST_FRAMES 1024

/* Frames that are walked before they are named, together, and printed. */
#define MANY_FRAMES (1U << 20)

struct stack {
	struct ow_thread thread;
	size_t at;        /* the thread's place in the capture */
	size_t number;    /* in its heading */
	size_t first, nr; /* its frames among those of some stacks */
	enum ow_end end;
	struct ow_error why; /* where end is not OW_END_OUTERMOST */
};

/* All stacks as they are printed, and room for one with its names. */
struct stacks {
	struct stack *list;
	size_t nr;
	struct ow_frame *frames; /* of some stacks */
	size_t nr_frames, room_frames;
	struct ow_view_frame views[MOST_FRAMES];
	struct ow_name names[MOST_FRAMES];
	struct viewtext text;
};

/* Walk with one frame more, which tells that a stack is too long. */
static bool walk(struct stacks *s, struct ow_capture *c, struct stack *stack)
{
	stack->first = s->nr_frames;
	if (!stack->thread.captured)
		return true;
	if (!ow_grow(&s->frames, &s->room_frames,
		     s->nr_frames + MOST_FRAMES + 1, sizeof(*s->frames)))
		return false;
	stack->nr = ow_capture_walk(c, stack->at, s->frames + s->nr_frames,
				    MOST_FRAMES + 1, &stack->end, &stack->why);
	if (stack->nr > MOST_FRAMES) {
		stack->nr = MOST_FRAMES;
		stack->end = OW_END_LIMIT;
	}
	s->nr_frames += stack->nr;
	return true;
}

/*
 * Walk stacks from begin on until they have many frames, and prepare their names.  Return
 * where the next ones begin; or begin, if memory runs out.
 */
static size_t walk_some(struct stacks *s, struct ow_capture *c, size_t begin,
			struct ow_symbolizer *symbolizer)
{
	size_t i;

	s->nr_frames = 0;
	for (i = begin; i < s->nr && s->nr_frames < MANY_FRAMES; i++)
		if (!walk(s, c, &s->list[i]))
			return begin;
	ow_symbolizer_prepare(symbolizer, s->frames, s->nr_frames);
	return i;
}

static struct stack *add(struct stacks *s, const struct ow_capture *c,
			 size_t at, size_t number)
{
	struct stack *stack = &s->list[s->nr++];

	stack->thread = *ow_capture_thread(c, at);
	stack->at = at;
	stack->number = number;
	return stack;
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
	struct stack *stack;
	size_t i, at = 0;

	for (i = 0; i < chosen->nr; i++) {
		if (!find_thread(c, chosen->tids[i], &at))
			continue;
		stack = add(s, c, at, chosen->numbers[i]);
		/* The letter shown is the one that was asked for. */
		if (chosen->states)
			stack->thread.state = chosen->states[i];
	}
}

/* All stacks, as yet without frames, or NULL. */
static struct stacks *list_stacks(const struct ow_capture *c,
				  const struct tb_threads *chosen)
{
	size_t i, nr = chosen->tids ? chosen->nr : ow_capture_nr_threads(c);
	struct stacks *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->text.longest = ow_tbtext_writer.longest;
	s->list = calloc(nr + 1, sizeof(*s->list));
	if (!s->list) {
		free(s);
		return NULL;
	}
	if (chosen->tids)
		list_chosen(s, c, chosen);
	for (i = 0; !chosen->tids && i < nr; i++)
		add(s, c, i, i + 1);
	return s;
}

static bool print_stack(struct stacks *s, const struct stack *stack,
			const struct tb_args *args,
			struct ow_symbolizer *symbolizer)
{
	unsigned int flags = (args->show_sp ? OW_VIEW_SP : 0) |
			     (args->show_state ? OW_VIEW_STATES : 0);
	const struct ow_view view = {
		.pid = args->pid,
		.thread = &stack->thread,
		.number = stack->number,
		.frames = s->views,
		.nr = stack->nr,
		.end = stack->end,
		.why = &stack->why,
	};
	bool has_none = stack->thread.why.code == OW_CODE_NO_STACK;
	struct ow_view_frame *f = s->views;
	size_t i;

	for (i = 0; i < stack->nr; i++, f++) {
		f->frame = s->frames[stack->first + i];
		f->names = &s->names[i];
		f->nr_names = ow_symbolizer_name(symbolizer, &f->frame,
						 &s->names[i], 1);
		if (f->nr_names)
			viewtext_take(&s->text, &s->names[i], 1);
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

static bool print_stacks(struct stacks *s, struct ow_capture *c,
			 const struct tb_args *args,
			 struct ow_symbolizer *symbolizer)
{
	size_t i, walked = 0;
	bool whole = true;

	for (i = 0; i < s->nr; i++) {
		if (i == walked)
			walked = walk_some(s, c, i, symbolizer);
		if (i == walked) {
			tb_complain("", "out of memory");
			return false;
		}
		whole &= print_stack(s, &s->list[i], args, symbolizer);
	}
	return say_cut(&s->text) && whole;
}

bool tb_stacks_print(struct ow_capture *c, const struct tb_threads *chosen,
		     const struct tb_args *args,
		     struct ow_symbolizer *symbolizer)
{
	struct stacks *s = list_stacks(c, chosen);
	bool whole;

	if (!s) {
		tb_complain("", "out of memory");
		return false;
	}
	whole = print_stacks(s, c, args, symbolizer);
	free(s->list);
	free(s->frames);
	free(s);
	return whole;
}
