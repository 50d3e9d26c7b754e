/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What frames were named before: stacks repeat themselves.  Where its memory, of the
 * budget, is spent, more frames are named anew each time.
 */
#ifndef OW_NAMECACHE_H
#define OW_NAMECACHE_H

#include <sys/types.h>

#include <outwind/outwind.h>

struct ow_namecache_entry;

/* All zero is empty. */
struct ow_namecache {
	struct ow_name *names; /* of all entries */
	size_t nr_names, room_names;
	struct ow_namecache_entry *entries; /* hashed, at most half full */
	size_t nr, room;
	size_t own; /* bytes taken from the budget */
};

/*
 * The names of pc, looked up at pc - 1 if back, or NULL if it has none yet for the user.
 * They may move at the next call.
 */
const struct ow_name *ow_namecache_find(const struct ow_namecache *c,
					uint64_t pc, bool back, uid_t uid,
					size_t *nr_ret);

/*
 * Make an entry without names, if there is none for pc; false if there is, or
 * there is no memory for it.
 */
bool ow_namecache_expect(struct ow_namecache *c, uint64_t pc, bool back);

/* What there is no memory for is forgotten. */
void ow_namecache_put(struct ow_namecache *c, uint64_t pc, bool back,
		      const struct ow_name *names, size_t nr);

/* The same of names for one user: there may be better ones for others. */
void ow_namecache_put_for(struct ow_namecache *c, uint64_t pc, bool back,
			  uid_t uid, const struct ow_name *names, size_t nr);

/* Forget the names of each pc for which is_gone() returns true. */
void ow_namecache_drop(struct ow_namecache *c,
		       bool (*is_gone)(void *arg, uint64_t pc), void *arg);

void ow_namecache_deinit(struct ow_namecache *c);

#endif /* OW_NAMECACHE_H */
