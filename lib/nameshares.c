// SPDX-License-Identifier: BSD-2-Clause
#include "nameshares.h"

#include <stdlib.h>

#include "budget.h"
#include "grow.h"
#include "leftout.h"

struct ow_nameshare {
	uid_t uid;
	bool is_told; /* that it was too small */
	struct ow_intern_group names;
};

/* The user's share; NULL without memory for it. */
static struct ow_nameshare *share_of(struct ow_nameshares *n, uid_t uid)
{
	size_t i;

	for (i = 0; i < n->nr; i++)
		if (n->all[i].uid == uid)
			return &n->all[i];
	if (!ow_grow(&n->all, &n->room, n->nr + 1, sizeof(*n->all)))
		return NULL;
	n->all[n->nr] = (struct ow_nameshare){ .uid = uid };
	return &n->all[n->nr++];
}

/* Note, once, whose processes ask for more names than there is room for. */
static void refuse_user(struct ow_nameshare *share)
{
	char whose[OW_PROCESSES_NAME];

	if (share->is_told)
		return;
	share->is_told = true;
	ow_budget_refuse(ow_name_processes(share->uid, whose),
			 "a copy of more of their names");
}

const char *ow_nameshares_keep(struct ow_nameshares *n, uid_t uid,
			       struct ow_namesource *from, const char *name)
{
	struct ow_nameshare *share = uid ? share_of(n, uid) : NULL;
	const char *kept = NULL;

	if (!name)
		return NULL;
	if (share || uid == 0)
		kept = ow_intern_add_in(&n->strings, name, &from->used,
					share ? &share->names : NULL);
	n->is_short |= !kept;
	if (!kept && share && share->names.is_short)
		refuse_user(share);
	else if (!kept)
		ow_budget_refuse(from->path, "a copy of more of its names");
	return kept;
}

void ow_nameshares_clear(struct ow_nameshares *n)
{
	size_t i;

	ow_intern_deinit(&n->strings);
	for (i = 0; i < n->nr; i++)
		n->all[i].names = (struct ow_intern_group){ 0 };
	n->is_short = false;
}

void ow_nameshares_deinit(struct ow_nameshares *n)
{
	ow_intern_deinit(&n->strings);
	free(n->all);
	*n = (struct ow_nameshares){ 0 };
}
