/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Counters: of each CPU, added up when somebody asks; and what users hold. */
#ifndef KW_STATS_H
#define KW_STATS_H

#include <linux/percpu.h>

#include "ow_kunwind.h"

struct kw_user;

struct kw_counters {
	u64 walks, frames, unmapped, busy, events_lost;
	u64 ends[16];
};

DECLARE_PER_CPU(struct kw_counters, kw_counters);

#define kw_count(name)         this_cpu_inc(kw_counters.name)
#define kw_count_more(name, n) this_cpu_add(kw_counters.name, n)

/*
 * What a user may know: the user's own holdings, and where the user is privileged,
 * what all hold and the counters of walks.  What others do could otherwise be told
 * by how much they hold.
 */
void kw_stats_read(struct kw_user *user, bool privileged,
		   struct ow_kunwind_stats *ret);

#endif /* KW_STATS_H */
