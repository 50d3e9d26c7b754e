// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#include "kstats.h"

#include <linux/cpumask.h>

DEFINE_PER_CPU(struct kw_counters, kw_counters);
struct kw_gauges kw_gauges;

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

void kw_stats_read(struct ow_kunwind_stats *ret)
{
	int cpu;

	*ret = (struct ow_kunwind_stats){
		.tables = atomic64_read(&kw_gauges.tables),
		.table_bytes = atomic64_read(&kw_gauges.table_bytes),
		.followed = atomic64_read(&kw_gauges.followed),
		.map_bytes = atomic64_read(&kw_gauges.map_bytes),
	};
	for_each_possible_cpu(cpu) add(ret, per_cpu_ptr(&kw_counters, cpu));
}
