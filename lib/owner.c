// SPDX-License-Identifier: BSD-2-Clause
#include "owner.h"

#include <stdatomic.h>

#include "budget.h"
#include "subuids.h"

#define USERS_SHARE 2 /* a user gets one part of so many of what others leave */
/* Others than root; those who come later share the last part. */
#define MOST_USERS  (OW_OWNER_SHARES - 1)

/* Without a lock: a delegate that is ended could hold it for ever. */
struct share {
	atomic_uint_least64_t user; /* key_of(); 0: free */
	atomic_uint_least64_t taken;
};

static struct share shares[MOST_USERS];

/* What tells users apart; one's subordinate ids are one user's. */
static uint64_t key_of(uid_t uid)
{
	return (uint64_t)ow_subuids_owner(uid) + 1;
}

struct ow_owner ow_owner_of(uid_t uid)
{
	uint64_t user, found;
	uint32_t i;

	if (uid == 0)
		return (struct ow_owner){ 0, 0 };
	user = key_of(uid);
	for (i = 0; i < MOST_USERS - 1; i++) {
		found = atomic_load(&shares[i].user);
		if (found == user ||
		    (!found && (atomic_compare_exchange_strong(&shares[i].user,
							       &found, user) ||
				found == user)))
			break;
	}
	return (struct ow_owner){ 0, i + 1 };
}

/* The bytes that a user who has taken so many may have in all. */
static uint64_t most_of(uint64_t taken)
{
	return ow_budget_part(taken, USERS_SHARE);
}

bool ow_owner_take(struct ow_owner *o, size_t size)
{
	atomic_uint_least64_t *taken;
	uint64_t before, most;

	if (!o->share)
		return ow_budget_take(&o->bytes, size);
	taken = &shares[o->share - 1].taken;
	before = atomic_load(taken);
	do {
		most = most_of(before);
		if (before > most || size > most - before)
			return false;
	} while (!atomic_compare_exchange_weak(taken, &before, before + size));
	if (ow_budget_take(&o->bytes, size))
		return true;
	atomic_fetch_sub(taken, size);
	return false;
}

void ow_owner_give(struct ow_owner *o, size_t size)
{
	ow_budget_give(&o->bytes, size);
	if (o->share)
		atomic_fetch_sub(&shares[o->share - 1].taken, size);
}

size_t ow_owner_left(const struct ow_owner *o)
{
	size_t left = ow_budget_share(o->bytes);
	uint64_t taken, most;

	if (!o->share)
		return left;
	taken = atomic_load(&shares[o->share - 1].taken);
	most = most_of(taken);
	if (taken > most)
		return 0;
	return most - taken < left ? (size_t)(most - taken) : left;
}
