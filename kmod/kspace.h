/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Address spaces that somebody follows, and the map of the code in each. */
#ifndef KW_SPACE_H
#define KW_SPACE_H

#include <linux/mutex.h>
#include <linux/workqueue.h>

#include "kmap.h"
#include "kvisit.h"

struct kw_patience;

struct kw_space {
	struct hlist_node node;
	struct rcu_head rcu;
	refcount_t ref;       /* each user has one */
	struct mm_struct *mm; /* what it is found by; a reference (mmgrab()) */
	struct mutex mutex;   /* making a map; within mmap_lock */
	atomic_t due;         /* why its ranges are to be linked again, or 0 */
	struct kw_map __rcu *map;
	struct kw_owner owner; /* tracks change under kw_lock */
	struct kw_member all;  /* of those with tracks, under kw_lock */
	struct work_struct reap, relink;
	/* The last task to have a refresh to do, not to be looked at. */
	const struct task_struct *refresher;
	/* Under the hash's lock: */
	unsigned int users; /* one for each track; none: it isn't found */
	bool dead;          /* nor is it then */
};

/* gone() is called in process context when a space's process is. */
void kw_space_init(void (*gone)(struct kw_space *space));
/* All spaces must have been put. */
void kw_space_exit(void);

/*
 * The space of mm, made if there is none, and one more user of it; task is a
 * process of it.  An error pointer on failure; -ESRCH: the process is gone.
 */
struct kw_space *kw_space_use(struct mm_struct *mm, struct task_struct *task);
/* One user less. */
void kw_space_unuse(struct kw_space *space);

/* References keep the memory, no more. */
void kw_space_put(struct kw_space *space);

/* What somebody follows of mm; the caller is in an RCU read section. */
struct kw_space *kw_space_find(const struct mm_struct *mm);

/*
 * Make its map anew.  The caller may sleep.  0, -EINTR, -ESRCH: the process is gone;
 * -EBUSY: another process holds its locks for long; -ENOMEM, or -ENOSPC: too many
 * mappings; there is no map then, and sessions are told that something is missed if there
 * was one.  again: tell of all tables that it lacks, not only of new ones.
 */
int kw_space_refresh(struct kw_space *space, bool again,
		     struct kw_patience *patience);

/*
 * The object has another table now; NULL: any object may have none any more.  The
 * caller has a reference, and may sleep.  Where another makes the map for longer than
 * the patience lasts, it will do this, too.
 */
void kw_space_relink(struct kw_space *space, const struct kw_object *object,
		     struct kw_patience *patience);

/* Its current map, or NULL; the caller is in an RCU read section of any kind. */
struct kw_map *kw_space_map(const struct mm_struct *mm);

/* The current map with a reference, or NULL. */
struct kw_map *kw_space_map_get(const struct mm_struct *mm);

/* Refresh current's own space, if it has one. */
void kw_space_refresh_current(void);

/*
 * The same before it is in user mode again; once, however often it is asked for.  Atomic
 * context, no NMI.
 */
void kw_space_refresh_later(void);

/*
 * What mm has at [start, end) goes away, or is code no more: no walk may believe in it.
 * Process context; nothing sleeps.
 */
void kw_space_cut(struct mm_struct *mm, u64 start, u64 end);

/* The process is gone, or executes something else.  Process context; nothing sleeps. */
void kw_space_end(struct mm_struct *mm);

/* Where nothing tells of that: find all that are gone, a moment later. */
void kw_space_end_later(void);

#endif /* KW_SPACE_H */
