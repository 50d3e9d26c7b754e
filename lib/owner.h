/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Owners of memory for what is made of users' files (budget.h).  Anybody can have any number
 * of files that take much.  So the files of a user other than root may have half of what
 * others leave over, all together, with those of the user's subordinate ids; and one of them a quarter, as any other owner.  Files
 * that only root and we may write to are of no user's share.
 *
 * Functions may be called by several threads at once, for one owner by one only.
 */
#ifndef OW_OWNER_H
#define OW_OWNER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define OW_OWNER_SHARES 257 /* users' and none's */

/* All zero is an owner for what is of no user's share. */
struct ow_owner {
	size_t bytes;   /* taken */
	uint32_t share; /* the user's, below OW_OWNER_SHARES; 0: none */
};

/* An owner for what a user has made; uid -1: nobody knows who. */
struct ow_owner ow_owner_of(uid_t uid);

/* Another owner for what is of the same user's. */
static inline struct ow_owner ow_owner_beside(const struct ow_owner *o)
{
	return (struct ow_owner){ 0, o->share };
}

/*
 * Take size bytes more.  Return false, and take none, if that is more than the owner, or
 * the user, may have.
 */
bool ow_owner_take(struct ow_owner *o, size_t size);

/* Give size bytes back. */
void ow_owner_give(struct ow_owner *o, size_t size);

/* The bytes that the owner may take; they aren't taken. */
size_t ow_owner_left(const struct ow_owner *o);

#endif /* OW_OWNER_H */
