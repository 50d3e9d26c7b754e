// SPDX-License-Identifier: BSD-2-Clause
#include "cfiwork.h"

#include "effort.h"

#define MOST     ((int64_t)64 << 20) /* bytes, each of which takes about 10 ns */
#define A_SECOND ((int64_t)1 << 20)
#define SHARES   4

static struct ow_effort effort = OW_EFFORT(MOST, A_SECOND);

uint64_t ow_cfiwork_share(void)
{
	return ow_effort_left(&effort) / SHARES;
}

void ow_cfiwork_spend(uint64_t bytes)
{
	ow_effort_spend(&effort, bytes);
}
