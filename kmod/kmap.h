/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The code that an address space maps, and the tables of it; made from its VMAs,
 * replaced as a whole, read under RCU by walks of any context.
 */
#ifndef KW_MAP_H
#define KW_MAP_H

#include <linux/refcount.h>
#include <linux/workqueue.h>

#include "kuse.h"
#include "module.h"

/* Where an executable range comes from, to find its table anew. */
struct kw_place {
	struct kw_object object;
	bool is_object; /* or a JIT's */
	u64 off;
	struct kw_hold *hold; /* its table, or NULL */
};

/* Once it is published, nothing changes but that ranges are cut. */
struct kw_map {
	struct rcu_work free;
	refcount_t ref;
	size_t bytes;
	size_t room; /* for ranges */
	/*
	 * Of all maps', anew whenever ranges are cut.  The low half, which isn't 0, is what
	 * rows are remembered by; those of another high half are forgotten first.
	 */
	atomic64_t generation;
	const struct ow_arch *arch;
	struct kw_user *user;
	struct ow_map map;
	struct ow_range *ranges;
	struct ow_module *modules;
	struct kw_place *places;
};

/* What the maps of an address space are made for. */
struct kw_owner {
	const struct ow_arch *arch;
	struct mm_struct *mm;    /* whose memory cgroup pays */
	struct kw_user *user;    /* whose share they are of; changes under the
				    space's mutex and kw_lock */
	struct list_head tracks; /* which sessions brought tables, and are told */
};

/* How many mappings mm has of code; the caller holds its mmap_lock. */
size_t kw_map_count(struct mm_struct *mm);

/*
 * A map with room for nr ranges; an error pointer on failure: -ENOMEM or -ENOSPC.  The
 * first, which has room for some more, may wait for as long as a memory cgroup likes:
 * no lock is held then, and so the caller says which user the owner has.  The second
 * waits for no memory.
 */
struct kw_map *kw_map_alloc(const struct kw_owner *owner, struct kw_user *user,
			    size_t nr);
struct kw_map *kw_map_alloc_now(const struct kw_owner *owner, size_t nr);

/*
 * Have a new map be that of mm as it is, as far as there is room.  The caller holds the
 * mmap_lock.  -EINTR: current is being killed.
 */
int kw_map_fill(const struct kw_owner *owner, struct kw_map *map,
		struct mm_struct *mm);

/*
 * The same ranges with the tables that there are now; waits for no memory.  NULL: none
 * at hand; -EINTR: current is being killed.
 */
struct kw_map *kw_map_again(const struct kw_owner *owner,
			    const struct kw_map *old);

/*
 * Have the ranges that overlap [start, end) hold nothing from now on, though walks may
 * be using them.  Return true if there were any.  Any context.
 */
bool kw_map_cut(struct kw_map *map, u64 start, u64 end);

/* The same of those of the map that the older one, which it is a copy of, has no more. */
void kw_map_cut_as(struct kw_map *map, const struct kw_map *older);

/*
 * Its generation, which is made anew if its high half is older than the latest one.  Any
 * context.
 */
u64 kw_map_generation(struct kw_map *map);

/* Give back a reference; NULL is none.  It goes after a grace period. */
void kw_map_put(struct kw_map *map);

bool kw_map_has(const struct kw_map *map, const struct kw_object *object);

/*
 * Tell those who follow of the objects that the map lacks the table of, but for
 * what was so in the older one, which may be NULL.
 */
void kw_map_tell_lacks(const struct kw_owner *owner, const struct kw_map *map,
		       const struct kw_map *older);

#endif /* KW_MAP_H */
