// SPDX-License-Identifier: BSD-2-Clause
#include "proflabels.h"

#include <stdlib.h>
#include <string.h>

#include "stackview.h"

#define MOST_MORE 24 /* bytes of a label beyond the object's path */

enum state {
	NOT_SEEN,
	LEFT_OUT,
	MADE,
};

/* What an owner's stacks want, and what they get. */
struct portion {
	uint64_t wanted, taken; /* bytes */
};

struct label {
	uint16_t size;  /* 0: the frame has none */
	uint16_t owner; /* whose stack was the last that wanted it */
};

struct sharing {
	const struct profile *p;
	uint8_t *states;          /* of each frame */
	struct label *labels;     /* likewise */
	struct portion *portions; /* of each owner, from 0 on */
	uint64_t most;            /* of an owner */
};

static bool is_unnamed(const struct profile_frame *f)
{
	return !f->function && f->has_start && f->module;
}

/* Return true if all fit in, were each as long as its object's path. */
static bool are_few(const struct profile *p)
{
	uint64_t size = 0;
	uint32_t i;

	for (i = 0; i < p->nr_frames && size <= PROFILE_MOST_LABELS; i++)
		if (is_unnamed(&p->frames[i]))
			size += MOST_MORE +
				profile_text_size(p, p->frames[i].module);
	return size <= PROFILE_MOST_LABELS;
}

static void measure(struct sharing *s)
{
	const struct profile *p = s->p;
	char buf[OW_VIEW_LABEL];
	const char *label;
	uint32_t i;

	for (i = 0; i < p->nr_frames; i++) {
		if (!is_unnamed(&p->frames[i]))
			continue;
		label = profile_label(p, &p->frames[i], buf);
		s->labels[i].size = (uint16_t)(strlen(label) + 1);
	}
}

/* Do a step for each frame of each stack that has a label. */
static void visit(struct sharing *s,
		  void (*step)(struct sharing *s, uint16_t owner,
			       uint32_t frame))
{
	const struct profile *p = s->p;
	const struct profile_stack *stack;
	uint32_t i, frame;

	for (stack = p->stacks; stack < p->stacks + p->nr_stacks; stack++)
		for (i = 0; i < stack->nr; i++) {
			frame = p->ids[stack->first + i];
			if (s->labels[frame].size)
				step(s, stack->owner, frame);
		}
}

/* A frame of several owners may count more than once for each. */
static void want(struct sharing *s, uint16_t owner, uint32_t frame)
{
	struct label *l = &s->labels[frame];

	if (s->states[frame] == NOT_SEEN || l->owner != owner)
		s->portions[owner].wanted += l->size;
	s->states[frame] = LEFT_OUT;
	l->owner = owner;
}

static int compare_portions(const void *a, const void *b)
{
	const struct portion *x = a, *y = b;

	return (x->wanted > y->wanted) - (x->wanted < y->wanted);
}

/* What an owner leaves over is for those that want more.  Return false when out of memory. */
static bool find_most(struct sharing *s)
{
	size_t nr = (size_t)s->p->nr_owners + 1, i;
	struct portion *sorted = malloc(nr * sizeof(*sorted));
	uint64_t left = PROFILE_MOST_LABELS;

	if (!sorted)
		return false;
	memcpy(sorted, s->portions, nr * sizeof(*sorted));
	qsort(sorted, nr, sizeof(*sorted), compare_portions);
	for (i = 0; i < nr; i++) {
		s->most = left / (nr - i);
		if (sorted[i].wanted > s->most)
			break;
		left -= sorted[i].wanted;
	}
	free(sorted);
	return true;
}

/* The first owner of a frame that has room for its label takes that. */
static void take(struct sharing *s, uint16_t owner, uint32_t frame)
{
	struct portion *p = &s->portions[owner];
	uint64_t size = s->labels[frame].size;

	if (s->states[frame] == MADE || p->taken + size > s->most)
		return;
	s->states[frame] = MADE;
	p->taken += size;
}

static uint64_t count_left_out(const struct sharing *s)
{
	uint64_t nr = 0;
	uint32_t i;

	for (i = 0; i < s->p->nr_frames; i++)
		nr += s->states[i] == LEFT_OUT;
	return nr;
}

bool proflabels_share(struct proflabels *l, const struct profile *p,
		      uint64_t *nr_ret)
{
	struct sharing s = { .p = p };
	bool good;

	if (are_few(p))
		return true;
	l->states = s.states = calloc(p->nr_frames, sizeof(*s.states));
	s.labels = calloc(p->nr_frames, sizeof(*s.labels));
	s.portions = calloc((size_t)p->nr_owners + 1, sizeof(*s.portions));
	good = s.states && s.labels && s.portions;
	if (good) {
		measure(&s);
		visit(&s, want);
		good = find_most(&s);
	}
	if (good)
		visit(&s, take);
	if (good && nr_ret)
		*nr_ret += count_left_out(&s);
	free(s.labels);
	free(s.portions);
	return good;
}

bool proflabels_has(const struct proflabels *l, uint32_t frame)
{
	return !l->states || l->states[frame] == MADE;
}

void proflabels_deinit(struct proflabels *l)
{
	free(l->states);
	l->states = NULL;
}
