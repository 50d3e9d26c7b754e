// SPDX-License-Identifier: BSD-2-Clause
#include "userefforts.h"

uint64_t ow_userefforts_left(struct ow_userefforts *e, uint32_t share)
{
	struct ow_effort *user = &e->of[share];
	uint64_t left = ow_effort_left(user), all, little, most;

	if (!share)
		return left;
	all = ow_effort_left(&e->all);
	if (left <= all)
		return left;
	most = (uint64_t)user->most;
	little = most / OW_USEREFFORTS_LITTLE;
	little = left > most - little ? left - (most - little) : 0;
	return all > little ? all : little;
}

void ow_userefforts_spend(struct ow_userefforts *e, uint32_t share,
			  uint64_t units)
{
	ow_effort_spend(&e->of[share], units);
	if (share)
		ow_effort_spend(&e->all, units);
}
