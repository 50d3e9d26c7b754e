/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Counters: of each CPU, added up when somebody asks. */
#ifndef KW_STATS_H
#define KW_STATS_H

#include <linux/atomic.h>
#include <linux/percpu.h>

#include "ow_kunwind.h"

struct kw_counters {
	u64 walks, frames, unmapped, busy, events_lost;
	u64 ends[16];
};

/* How much there is now. */
struct kw_gauges {
	atomic64_t tables, table_bytes, followed, map_bytes;
};

DECLARE_PER_CPU(struct kw_counters, kw_counters);
extern struct kw_gauges kw_gauges;

#define kw_count(name)         this_cpu_inc(kw_counters.name)
#define kw_count_more(name, n) this_cpu_add(kw_counters.name, n)

void kw_stats_read(struct ow_kunwind_stats *ret);

#endif /* KW_STATS_H */
