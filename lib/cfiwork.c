// SPDX-License-Identifier: BSD-2-Clause
#include "cfiwork.h"

#include <stdatomic.h>

#include "monotonic.h"

#define MOST     ((int64_t)64 << 20) /* bytes, each of which takes about 10 ns */
#define A_SECOND ((int64_t)1 << 20)  /* that come back */
#define SHARES   4

static atomic_int_least64_t left = MOST;
static atomic_uint_least64_t refilled_ns; /* CLOCK_MONOTONIC; 0: not yet */

/* Give back what time has brought since this was last done. */
static void refill(void)
{
	uint64_t now = ow_now_ns();
	uint64_t since = atomic_exchange(&refilled_ns, now);
	uint64_t ms = since ? (now - since) / 1000000 : 0;
	int64_t more = ms < 60000 ? (int64_t)ms * (A_SECOND / 1000) : MOST;
	int64_t now_left = atomic_load(&left);

	if (more > MOST - now_left)
		more = MOST - now_left;
	atomic_fetch_add(&left, more);
}

uint64_t ow_cfiwork_share(void)
{
	int64_t n = atomic_load(&left);

	/* Without a look at the clock where nothing was ever spent. */
	if (n < MOST) {
		refill();
		n = atomic_load(&left);
	}
	return n > 0 ? (uint64_t)n / SHARES : 0;
}

void ow_cfiwork_spend(uint64_t bytes)
{
	if (bytes)
		atomic_fetch_sub(&left, (int64_t)bytes);
}
