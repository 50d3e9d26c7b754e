// SPDX-License-Identifier: BSD-2-Clause
#include "tracecount.h"

#include <stdlib.h>

#include "stackview.h"

#define MEMORY_PART 4   /* of the run's memory is the profile */
#define PROCESS     4   /* eighths of what others leave over */
#define MOST_FOLDED 256 /* processes told apart by their folded stacks */

void tracecount_init(struct tracecount *c, struct profile *p,
		     enum trace_grouping by)
{
	*c = (struct tracecount){
		.profile = p,
		.by = by,
		.processes.most = ow_get_memory_limit() / MEMORY_PART,
		.processes.eighths = PROCESS,
	};
}

void tracecount_deinit(struct tracecount *c)
{
	shares_deinit(&c->processes);
}

static size_t frame_ids(const struct tracecount *c,
			const struct tracemaps *maps,
			const struct trace_stack *s, uint32_t *ids, size_t most)
{
	struct ow_name names[OW_VIEW_NAMES];
	struct profile *p = c->profile;
	size_t i, k, nr, used = 0;

	for (i = 0; i < s->nr && !p->has_refused; i++) {
		nr = trace_stack_name(s, maps, i, names, OW_VIEW_NAMES);
		for (k = 0; k < nr && used < most; k++)
			ids[used++] =
				profile_name(p, &names[k], s->pcs[i], false, 0);
	}
	if (c->by == TRACE_BY_EVENT)
		ids[used++] = profile_mark(p, s->label);
	return used;
}

/* What is counted of an event, but for its stack. */
static struct profile_stack event_of(const struct tracecount *c,
				     const struct trace_stack *s,
				     const struct ctf_event *end)
{
	struct profile_stack is = {
		.comm = profile_string(c->profile, c->by == TRACE_BY_NOTHING ?
							   "all" :
							   s->comm),
		.end = (uint8_t)(s->end ? s->end : OW_END_OUTERMOST),
		.kind = end ? PROFILE_OFF_CPU : PROFILE_CPU,
		.count = 1,
		.value = end ? end->time - s->time : 1,
	};

	/* One that isn't known stays 0: profiles have no other number for it. */
	if (c->by != TRACE_BY_NOTHING && s->pid > 0 && s->pid <= INT32_MAX) {
		is.pid = (int32_t)s->pid;
		is.tid = (int32_t)s->pid;
	}
	return is;
}

/* Add a stack with its names.  False if that took more than there may be. */
static bool add(struct tracecount *c, const struct tracemaps *maps,
		const struct trace_stack *s, const struct ctf_event *end)
{
	size_t most = s->nr * 4 + OW_VIEW_NAMES, nr;
	uint32_t *ids = calloc(most + 1, sizeof(*ids));
	struct profile *p = c->profile;
	struct profile_stack is = event_of(c, s, end);

	if (!ids) {
		p->failed = true;
		return true;
	}
	nr = frame_ids(c, maps, s, ids, most);
	if (!p->has_refused)
		profile_add(p, &is, ids, (uint32_t)nr);
	free(ids);
	return !p->has_refused;
}

/*
 * Count an event without its stack: by its process, or where there are many of these,
 * by none.
 */
static void fold(struct tracecount *c, const struct trace_stack *s,
		 const struct ctf_event *end)
{
	struct profile *p = c->profile;
	struct profile_stack is = event_of(c, s, end);
	uint32_t before = p->nr_stacks, id;

	is.end = OW_END_LIMIT;
	if (c->nr_folded >= MOST_FOLDED) {
		is.comm = profile_string(p, "others");
		is.pid = is.tid = 0;
	}
	id = profile_mark(p, "[too many different stacks]");
	profile_add(p, &is, &id, 1);
	c->nr_folded += p->nr_stacks > before;
}

void tracecount_add(struct tracecount *c, const struct tracemaps *maps,
		    const struct trace_stack *s, const struct ctf_event *end)
{
	uint64_t owner = trace_stack_owner(s);
	struct profile *p = c->profile;
	size_t before = profile_size(p);
	bool good;

	p->is_closed = shares_left(&c->processes, owner) == 0;
	p->has_refused = false;
	good = add(c, maps, s, end);
	p->is_closed = false;
	if (!good) {
		shares_refuse(&c->processes, owner);
		c->folded++;
		fold(c, s, end);
	}
	shares_take(&c->processes, owner, profile_size(p) - before);
}
