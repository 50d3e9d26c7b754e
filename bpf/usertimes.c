// SPDX-License-Identifier: BSD-2-Clause
#include "usertimes.h"

#include <stdlib.h>

#include "grow.h"

uint64_t ow_usertimes_until(const struct ow_usertimes *t, uid_t uid)
{
	size_t i;

	for (i = 0; i < t->nr; i++)
		if (t->all[i].uid == uid)
			return t->all[i].until;
	return 0;
}

/* The user's time, maybe in the place of one that counts no more; or NULL. */
static struct ow_usertime *time_of(struct ow_usertimes *t, uid_t uid,
				   uint64_t now)
{
	size_t i, free = t->nr;

	for (i = 0; i < t->nr; i++) {
		if (t->all[i].uid == uid)
			return &t->all[i];
		if (t->all[i].until <= now)
			free = i;
	}
	if (free == t->nr) {
		if (!ow_grow(&t->all, &t->room, t->nr + 1, sizeof(*t->all)))
			return NULL;
		t->nr++;
	}
	t->all[free] = (struct ow_usertime){ uid, 0 };
	return &t->all[free];
}

void ow_usertimes_pay(struct ow_usertimes *t, uid_t uid, uint64_t ns,
		      uint64_t now)
{
	struct ow_usertime *time = uid ? time_of(t, uid, now) : NULL;

	if (!time)
		return;
	if (time->until < now)
		time->until = now;
	time->until += ns;
}

void ow_usertimes_deinit(struct ow_usertimes *t)
{
	free(t->all);
	*t = (struct ow_usertimes){ 0 };
}
