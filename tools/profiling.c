// SPDX-License-Identifier: BSD-2-Clause
#include "profiling.h"

#include <stdlib.h>

#include "stackview.h"

struct draining {
	struct profile *p;
	struct ow_recorder *r;
};

static enum profile_kind kind_of(const struct ow_recorded *s)
{
	switch (s->kind) {
	case OW_RECORD_OFF_CPU: return PROFILE_OFF_CPU;
	case OW_RECORD_FAULTS: return PROFILE_FAULTS;
	case OW_RECORD_SYSCALLS: return PROFILE_SYSCALLS;
	}
	return PROFILE_CPU;
}

/* The number of what is mapped at a frame, or 0; name is one of its. */
static uint32_t mapping_of(struct profile *p, struct ow_recorder *r,
			   const struct ow_recorded *s, size_t i,
			   const struct ow_name *name)
{
	struct profile_mapping is = { 0 };
	struct ow_module_info m;

	if (p->is_placeless || !ow_recorder_mapping(r, s, i, &m))
		return 0;
	/* Of a JIT's code, its map; or what the name has instead. */
	is.module = profile_string(p, *m.path ? m.path : name->module);
	is.build_id = profile_string(p, m.build_id);
	is.start = m.start;
	is.end = m.end;
	is.offset = m.offset;
	return profile_mapping(p, &is);
}

/* The names of a frame, in room; returns how many. */
static size_t name_frame(struct profile *p, struct ow_recorder *r,
			 const struct ow_recorded *s, size_t i, uint32_t *ids,
			 size_t room)
{
	struct ow_frame f = ow_recorded_frame(s, i);
	struct ow_name names[OW_VIEW_NAMES];
	size_t nr = ow_recorder_name(r, s, i, names, OW_VIEW_NAMES), k;
	uint32_t mapping = mapping_of(p, r, s, i, &names[0]);

	for (k = 0; k < nr && k < room; k++)
		ids[k] = profile_name(p, &names[k], f.pc, i < s->nr_kernel,
				      mapping);
	return k;
}

void profiling_add(struct profile *p, struct ow_recorder *r,
		   const struct ow_recorded *s)
{
	size_t most = (s->nr_kernel + s->nr) * 4 + OW_VIEW_NAMES, used = 0, i;
	uint32_t *ids = calloc(most, sizeof(*ids));
	struct profile_stack is = {
		.comm = profile_string(p, s->comm),
		.pid = s->pid,
		.tid = s->tid,
		.end = (uint8_t)s->end,
		.kind = (uint8_t)kind_of(s),
		.count = s->count,
		.value = s->value,
	};

	if (!ids) {
		p->failed = true;
		return;
	}
	for (i = 0; i < s->nr_kernel + s->nr; i++)
		used += name_frame(p, r, s, i, ids + used, most - used);
	profile_add(p, &is, ids, (uint32_t)used);
	free(ids);
}

static void take(void *arg, const struct ow_recorded *s)
{
	struct draining *d = arg;

	profiling_add(d->p, d->r, s);
}

int profiling_drain(struct profile *p, struct ow_recorder *r,
		    struct ow_error *err)
{
	struct draining d = { p, r };

	return ow_recorder_drain(r, take, &d, err);
}

int profiling_drain_some(struct profile *p, struct ow_recorder *r,
			 struct ow_error *err)
{
	struct draining d = { p, r };

	return ow_recorder_drain_some(r, take, &d, err);
}

void profiling_tally(struct profile *p, struct ow_recorder *r)
{
	struct ow_recorder_stats s;

	ow_recorder_stats(r, &s);
	p->samples = s.samples;
	p->missed = s.missed;
	p->lost = s.lost;
}
