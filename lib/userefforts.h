/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * An effort (effort.h) for each user, by the shares that owners (owner.h) have: a user whose
 * files or processes make work long uses up no other user's.  As there can be any number of
 * users, one person's, too, all of them together may spend as much as some users; beyond
 * that a user who has spent little may still spend a little.
 *
 * All functions may be called by several threads at once.
 */
#ifndef OW_USEREFFORTS_H
#define OW_USEREFFORTS_H

#include "effort.h"
#include "owner.h"

#define OW_USEREFFORTS_USERS 8 /* as much as they have is for all users */
#define OW_USEREFFORTS_LITTLE \
	16 /* one part of so many of a user's is a little */

struct ow_userefforts {
	struct ow_effort of[OW_OWNER_SHARES]; /* the first one: of no user's */
	struct ow_effort all;
};

/* An effort of no user's, and one of each user's. */
#define OW_USEREFFORTS_BESIDE(own, own_a_second, users, a_second)             \
	{                                                                     \
		.of[0] = OW_EFFORT((own), (own_a_second)),                    \
		.of[1 ... OW_OWNER_SHARES - 1] =                              \
			OW_EFFORT((users), (a_second)),                       \
		.all = OW_EFFORT(OW_USEREFFORTS_USERS * (int64_t)(users),     \
				 OW_USEREFFORTS_USERS * (int64_t)(a_second)), \
	}

/* All of them may spend so many units, of which so many come back. */
#define OW_USEREFFORTS(most, a_second) \
	OW_USEREFFORTS_BESIDE((most), (a_second), (most), (a_second))

/* The units that may be spent now for the owner of a share (struct ow_owner). */
uint64_t ow_userefforts_left(struct ow_userefforts *e, uint32_t share);

void ow_userefforts_spend(struct ow_userefforts *e, uint32_t share,
			  uint64_t units);

#endif /* OW_USEREFFORTS_H */
