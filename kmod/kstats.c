// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#include "kstats.h"

#include <linux/cpumask.h>

#include "kuser.h"

DEFINE_PER_CPU(struct kw_counters, kw_counters);

static void add(struct ow_kunwind_stats *to, const struct kw_counters *c)
{
	unsigned int i;

	to->walks += READ_ONCE(c->walks);
	to->frames += READ_ONCE(c->frames);
	to->unmapped += READ_ONCE(c->unmapped);
	to->busy += READ_ONCE(c->busy);
	to->events_lost += READ_ONCE(c->events_lost);
	for (i = 0; i < ARRAY_SIZE(to->ends); i++)
		to->ends[i] += READ_ONCE(c->ends[i]);
}

void kw_stats_read(struct kw_user *user, bool privileged,
		   struct ow_kunwind_stats *ret)
{
	const struct kw_user *whose = privileged ? NULL : user;
	int cpu;

	*ret = (struct ow_kunwind_stats){
		.tables = kw_user_held(whose, KW_TABLES),
		.table_bytes = kw_user_held(whose, KW_TABLE_BYTES),
		.followed = kw_user_held(whose, KW_FOLLOWED),
		.map_bytes = kw_user_held(whose, KW_MAP_BYTES),
		.bytes_user = kw_user_bytes(user),
	};
	if (privileged)
		for_each_possible_cpu(cpu)
			add(ret, per_cpu_ptr(&kw_counters, cpu));
}
