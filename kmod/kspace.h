/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Address spaces that somebody follows, and a map of the code in each: made
 * from its VMAs, replaced as a whole, read under RCU by walks of any context.
 */
#ifndef KW_SPACE_H
#define KW_SPACE_H

#include <linux/mmu_notifier.h>
#include <linux/mutex.h>
#include <linux/workqueue.h>

#include "ktable.h"
#include "module.h"

/* Where an executable range comes from, to find its table anew. */
struct kw_place {
	struct kw_object object;
	bool is_object; /* or a JIT's */
	u64 off;
	struct kw_table *table; /* a reference, or NULL */
};

/* Never changes once it is published. */
struct kw_map {
	struct rcu_work free;
	refcount_t ref;
	size_t bytes;
	const struct ow_arch *arch;
	struct kw_user *user;
	struct ow_map map;
	struct ow_range *ranges;
	struct ow_module *modules;
	struct kw_place *places;
};

struct kw_space {
	struct mmu_notifier mn; /* mn.users: one for each track */
	struct hlist_node node;
	struct rcu_head rcu;
	refcount_t ref;
	struct mm_struct *mm; /* what it is found by */
	const struct ow_arch *arch;
	struct kw_user *user; /* whose share its maps are of */
	struct mutex mutex;   /* building a map; within mmap_lock, kw_mutex */
	struct kw_map __rcu *map;
	struct list_head tracks; /* changes under kw_mutex and mutex */
	struct list_head all;    /* those with tracks, under kw_mutex */
	struct work_struct reap;
	/* Under the hash's lock: */
	unsigned int users; /* one for each track; none: it isn't found */
	bool dead;          /* nor is it then */
};

int kw_space_init(void);
/* All spaces must have been put. */
void kw_space_exit(void);

/*
 * The space of mm, made if there is none, and one more user of it; uid is the
 * process'.  The caller has the mm's users.  An error pointer on failure.
 */
struct kw_space *kw_space_use(struct mm_struct *mm, kuid_t uid);
/* One user less. */
void kw_space_unuse(struct kw_space *space);

/* References keep the memory, no more. */
void kw_space_put(struct kw_space *space);

/* What somebody follows of mm; the caller is in an RCU read section. */
struct kw_space *kw_space_find(const struct mm_struct *mm);

/*
 * Make its map anew.  The caller has the mm's users, and may sleep.  0, -EINTR,
 * -ENOMEM, or -ENOSPC: too many mappings; there is no map then.  again: tell of all
 * tables that it lacks, not only of new ones.
 */
int kw_space_refresh(struct kw_space *space, bool again);

/* The object has a table now, or none any more; the caller holds kw_mutex. */
void kw_space_relink(struct kw_space *space, const struct kw_object *object);

/* The current map with a reference, or NULL. */
struct kw_map *kw_space_map_get(const struct mm_struct *mm);
void kw_map_put(struct kw_map *map);

/* Have work done in process context, before kw_space_exit(). */
void kw_space_queue(struct work_struct *work);

/* Where mappings aren't told of: refresh current's own space now. */
void kw_space_catch_up(void);

/* Refresh current's own space before it is in user mode again. */
void kw_space_refresh_later(struct mm_struct *mm);

#endif /* KW_SPACE_H */
