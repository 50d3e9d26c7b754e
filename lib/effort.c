// SPDX-License-Identifier: BSD-2-Clause
#include "effort.h"

#include "monotonic.h"

#define NS_A_MS    1000000
#define MOST_UNITS ((uint64_t)1 << 60) /* spent by one call */

/* The units that so many milliseconds bring back, at most all. */
static int64_t brought(const struct ow_effort *e, uint64_t ms)
{
	if (ms >= (uint64_t)(e->most / e->a_second + 1) * 1000)
		return e->most;
	return (int64_t)ms * e->a_second / 1000;
}

/* Give back what time has brought since this was last done. */
static void refill(struct ow_effort *e)
{
	uint64_t now = ow_now_ns();
	uint64_t since = atomic_load(&e->refilled_ns);
	int64_t more, left;

	/* Less than a millisecond waits for the rest of it. */
	if (now - since < NS_A_MS ||
	    !atomic_compare_exchange_strong(&e->refilled_ns, &since, now) ||
	    since == 0)
		return;
	more = brought(e, (now - since) / NS_A_MS);
	left = atomic_load(&e->left);
	if (more > e->most - left)
		more = e->most - left;
	atomic_fetch_add(&e->left, more);
}

uint64_t ow_effort_left(struct ow_effort *e)
{
	int64_t left = atomic_load(&e->left);

	/* Without a look at the clock where nothing was ever spent. */
	if (left < e->most) {
		refill(e);
		left = atomic_load(&e->left);
	}
	return left > 0 ? (uint64_t)left : 0;
}

void ow_effort_spend(struct ow_effort *e, uint64_t units)
{
	int64_t n = (int64_t)(units < MOST_UNITS ? units : MOST_UNITS);

	if (n)
		atomic_fetch_sub(&e->left, n);
}
