// SPDX-License-Identifier: BSD-2-Clause
/* What formats show of a profile: what weighs, by which names. */
#include "profile.h"

#include "stackview.h"

uint64_t profile_weight(const struct profile_stack *s)
{
	return s->kind == PROFILE_OFF_CPU ? (s->value + 500) / 1000 : s->count;
}

uint64_t profile_total(const struct profile *p, enum profile_kind kind)
{
	uint64_t sum = 0;
	uint32_t i;

	for (i = 0; i < p->nr_stacks; i++)
		if (p->stacks[i].kind == kind)
			sum = profile_sum(sum, profile_weight(&p->stacks[i]));
	return sum;
}

const char *profile_unit(enum profile_kind kind)
{
	static const char *const units[PROFILE_NR_KINDS] = {
		[PROFILE_CPU] = "samples",
		[PROFILE_OFF_CPU] = "microseconds",
		[PROFILE_FAULTS] = "faults",
		[PROFILE_SYSCALLS] = "calls",
	};

	return units[kind];
}

enum profile_kind profile_kind(const struct profile *p)
{
	uint32_t nr[PROFILE_NR_KINDS] = { 0 }, i;
	unsigned int kind, most = 0;

	for (i = 0; i < p->nr_stacks; i++)
		nr[p->stacks[i].kind % PROFILE_NR_KINDS]++;
	for (kind = 1; kind < PROFILE_NR_KINDS; kind++)
		if (nr[kind] > nr[most])
			most = kind;
	return most;
}

const char *profile_label(const struct profile *p,
			  const struct profile_frame *f, char *buf)
{
	if (f->function)
		return profile_text(p, f->function);
	return ow_view_unnamed(profile_text(p, f->module),
			       f->has_start ? f->module_offset - f->offset : 0,
			       f->pc, buf);
}
