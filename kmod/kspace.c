// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#include "kspace.h"

#include <linux/hashtable.h>
#include <linux/mm.h>
#include <linux/rculist.h>
#include <linux/sched/mm.h>

#include "klater.h"
#include "kmm.h"
#include "kpatience.h"
#include "kqueue.h"
#include "ktrack.h"
#include "kuser.h"

#define MAX_CUTS 16 /* tries, of a space whose map is replaced meanwhile */

/* Why the ranges of a space's map are to be linked to their tables again. */
enum due {
	DUE_MORE = 1, /* there are more tables */
	DUE_LESS = 2, /* some are no more, and are to be given back */
};

static DEFINE_HASHTABLE(spaces, 12); /* read under RCU */
static DEFINE_SPINLOCK(spaces_lock);
static void (*on_gone)(struct kw_space *space);

/* Its map with a reference, or NULL. */
static struct kw_map *current_map(struct kw_space *space)
{
	struct kw_map *map;

	rcu_read_lock();
	map = rcu_dereference(space->map);
	if (map && !refcount_inc_not_zero(&map->ref))
		map = NULL;
	rcu_read_unlock();
	return map;
}

/* Replace the map, which walks may be using; any context. */
static void publish(struct kw_space *space, struct kw_map *map)
{
	kw_map_put(unrcu_pointer(xchg(&space->map, RCU_INITIALIZER(map))));
}

/* Its mmap_lock.  Who waits for its own may wait as long as it takes. */
static int lock_for_reading(struct mm_struct *mm, struct kw_patience *patience)
{
	int err = 0;

	if (mm == current->mm && fatal_signal_pending(current))
		return -EINTR;
	if (mm == current->mm)
		return mmap_read_lock_killable(mm);
	while (!err && !kw_mm_try_lock(mm, &err))
		if (!err)
			err = kw_wait_a_moment(patience);
	return err;
}

/* --- whose account a process has --- */

/* The user that its owner has now, with a reference. */
static struct kw_user *user_of(const struct kw_space *space)
{
	struct kw_user *user;

	spin_lock(&kw_lock);
	user = kw_user_share(space->owner.user);
	spin_unlock(&kw_lock);
	return user;
}

/*
 * A process that runs as another user by now, as servers do that root starts, has that
 * one's account: this user, with a reference; or NULL.
 */
static struct kw_user *newer_user(const struct kw_space *space)
{
	struct kw_user *user, *ret = NULL;

	if (current->mm != space->mm)
		return NULL;
	user = user_of(space);
	if (!kw_user_is_of(user, current))
		ret = kw_user_of_task(current, GFP_KERNEL);
	kw_user_put(user);
	return ret;
}

/* Takes over the reference; the caller has the space's mutex. */
static void renew_owner(struct kw_owner *owner, struct kw_user *user)
{
	spin_lock(&kw_lock);
	kw_tracks_renew(&owner->tracks, user);
	swap(owner->user, user);
	spin_unlock(&kw_lock);
	kw_user_put(user);
}

/* --- making maps, under the space's mutex --- */

static int lock(struct kw_space *space, struct kw_patience *patience)
{
	int err = 0;

	if (space->mm == current->mm)
		return mutex_lock_killable(&space->mutex);
	while (!err && !mutex_trylock(&space->mutex))
		err = kw_wait_a_moment(patience);
	return err;
}

/* Have a copy, or NULL if there was no memory for it, take the place of a map. */
static void replace(struct kw_space *space, struct kw_map *old,
		    struct kw_map *map, int due)
{
	if (map) {
		kw_map_tell_lacks(&space->owner, map, old);
		/* What was cut since the ranges were copied: no walk is to find it. */
		kw_map_cut_as(map, old);
	}
	/* The map may have gone meanwhile. */
	if ((map || due & DUE_LESS) &&
	    cmpxchg(&space->map, RCU_INITIALIZER(old), RCU_INITIALIZER(map)) ==
		    RCU_INITIALIZER(old)) {
		/* What was cut since then. */
		if (map)
			kw_map_cut_as(map, old);
		kw_map_put(old);
	} else {
		kw_map_put(map);
	}
}

/* Give the map's ranges the tables that there are now. */
static void link_again(struct kw_space *space, int due)
{
	struct kw_map *old = current_map(space), *map;

	if (!old)
		return;
	map = kw_map_again(&space->owner, old);
	if (IS_ERR(map))
		atomic_fetch_or(due, &space->due);
	else
		replace(space, old, map, due);
	kw_map_put(old);
}

/*
 * Do what has become due meanwhile, once, and give the mutex back.  What becomes due
 * after that is left to the queue: the caller does not work for others for ever, nor
 * once it is being killed.
 */
static void unlock(struct kw_space *space)
{
	int due = atomic_xchg(&space->due, 0);

	if (due)
		link_again(space, due);
	mutex_unlock(&space->mutex);
	/* Who fails to take the mutex has set before what is due. */
	smp_mb();
	if (!atomic_read(&space->due))
		return;
	refcount_inc(&space->ref);
	if (!kw_queue_long(&space->relink))
		kw_space_put(space);
}

static void relink(struct work_struct *work)
{
	struct kw_space *space = container_of(work, struct kw_space, relink);

	/* Whoever has the mutex does it. */
	if (mutex_trylock(&space->mutex))
		unlock(space);
	kw_space_put(space);
}

static bool has(struct kw_space *space, const struct kw_object *object)
{
	struct kw_map *map = current_map(space);
	bool ret = map && (!object || kw_map_has(map, object));

	kw_map_put(map);
	return ret;
}

void kw_space_relink(struct kw_space *space, const struct kw_object *object,
		     struct kw_patience *patience)
{
	int due = object ? DUE_MORE : DUE_LESS;

	if (mutex_trylock(&space->mutex)) {
		if (has(space, object))
			atomic_fetch_or(due, &space->due);
		unlock(space);
		return;
	}
	/* The map that is being made may be without it. */
	atomic_fetch_or(due, &space->due);
	while (!mutex_trylock(&space->mutex))
		if (kw_wait_a_moment(patience))
			return;
	unlock(space);
}

/* Making a space's map, and memory for it that was waited for. */
struct refresh {
	struct kw_space *space;
	bool again;
	bool waited;
	struct kw_user *newer; /* that the process runs as now, or NULL */
	struct kw_map *spare;  /* that has room for more than nr, perhaps */
	size_t nr;             /* mappings of code that there were */
};

/* Room for what is mapped; an error pointer. */
static struct kw_map *take_room(struct refresh *r)
{
	struct kw_map *map = r->spare;

	r->nr = kw_map_count(r->space->mm);
	if (!map || map->room < r->nr || map->user != r->space->owner.user)
		return kw_map_alloc_now(&r->space->owner, r->nr);
	r->spare = NULL;
	return map;
}

/* What it lacks now, or that it has no map any more. */
static void tell(const struct refresh *r, const struct kw_map *map,
		 const struct kw_map *older)
{
	const struct kw_owner *owner = &r->space->owner;

	if (!IS_ERR(map))
		kw_map_tell_lacks(owner, map, r->again ? NULL : older);
	else if (older)
		kw_tracks_miss(&owner->tracks, kw_user_uid(owner->user));
}

/* The caller has both locks.  -EAGAIN: it is to wait for memory without them. */
static int rebuild(struct refresh *r)
{
	struct kw_space *space = r->space;
	struct kw_map *map, *older;
	int err, due;

	if (r->newer)
		renew_owner(&space->owner, r->newer);
	r->newer = NULL;
	map = take_room(r);
	err = PTR_ERR_OR_ZERO(map);
	if (err == -ENOMEM && !r->waited)
		return -EAGAIN;
	due = atomic_xchg(&space->due, 0);
	if (!err)
		err = kw_map_fill(&space->owner, map, space->mm);
	if (err == -EINTR) {
		atomic_fetch_or(due, &space->due);
		kw_map_put(map);
		return err;
	}
	older = current_map(space);
	publish(space, err ? NULL : map);
	tell(r, map, older);
	kw_map_put(older);
	return err;
}

static int try_refresh(struct refresh *r, struct kw_patience *patience)
{
	struct kw_space *space = r->space;
	int err = lock_for_reading(space->mm, patience);

	if (err)
		return err;
	err = lock(space, patience);
	if (!err) {
		err = rebuild(r);
		unlock(space);
	}
	mmap_read_unlock(space->mm);
	return err;
}

/* Have memory that is waited for, if there is any. */
static void wait_for_room(struct refresh *r)
{
	struct kw_user *user = user_of(r->space);

	r->spare = kw_map_alloc(&r->space->owner, user, r->nr);
	if (IS_ERR(r->spare))
		r->spare = NULL;
	r->waited = true;
	kw_user_put(user);
}

int kw_space_refresh(struct kw_space *space, bool again,
		     struct kw_patience *patience)
{
	struct refresh r = { .space = space, .again = again };
	int err;

	r.newer = newer_user(space);
	err = try_refresh(&r, patience);
	if (err == -EAGAIN) {
		wait_for_room(&r);
		err = try_refresh(&r, patience);
		kw_map_put(r.spare);
	}
	kw_user_put(r.newer);
	return err;
}

/* --- refreshes that are put off --- */

static void refresh_now(void *arg)
{
	struct kw_patience patience = { KW_PATIENCE };
	struct kw_space *space = arg;

	/* What happens from here on asks for another one. */
	cmpxchg(&space->refresher, current, NULL);
	if (current->mm == space->mm)
		kw_space_refresh(space, false, &patience);
	kw_space_put(space);
}

/* The space is current's. */
static void refresh_later(struct kw_space *space)
{
	if (READ_ONCE(space->refresher) == current ||
	    !refcount_inc_not_zero(&space->ref))
		return;
	WRITE_ONCE(space->refresher, current);
	if (!kw_later(current, refresh_now, space))
		return;
	cmpxchg(&space->refresher, current, NULL);
	kw_space_put(space);
}

void kw_space_refresh_later(void)
{
	struct kw_space *space;

	rcu_read_lock();
	space = kw_space_find(current->mm);
	if (space)
		refresh_later(space);
	rcu_read_unlock();
}

/* --- what happens to an mm --- */

/*
 * Return true if the current map has such code, and has it no more.  Who replaces the map
 * meanwhile looks at the older one once more after that, as is done here.
 */
static bool cut(struct kw_space *space, u64 start, u64 end)
{
	struct kw_map *map;
	bool ret = false;
	int i;

	for (i = 0; i < MAX_CUTS; i++) {
		map = rcu_dereference(space->map);
		if (!map || !kw_map_cut(map, start, end))
			return ret;
		ret = true;
		smp_mb();
		if (map == rcu_access_pointer(space->map))
			return ret;
	}
	publish(space, NULL);
	return ret;
}

void kw_space_cut(struct mm_struct *mm, u64 start, u64 end)
{
	struct kw_space *space;

	rcu_read_lock();
	space = kw_space_find(mm);
	if (space && cut(space, start, end) && current->mm == mm)
		refresh_later(space);
	rcu_read_unlock();
}

static void reap(struct work_struct *work)
{
	struct kw_space *space = container_of(work, struct kw_space, reap);

	on_gone(space);
	kw_space_put(space);
}

/* The caller has the hash's lock. */
static void end(struct kw_space *space)
{
	space->dead = true;
	hash_del_rcu(&space->node);
	publish(space, NULL);
	refcount_inc(&space->ref);
	kw_queue(&space->reap);
}

/* Most processes are nobody's to follow: the lock is not for them. */
static bool may_be_known(const struct mm_struct *mm)
{
	bool ret;

	rcu_read_lock();
	ret = kw_space_find(mm);
	rcu_read_unlock();
	return ret;
}

void kw_space_end(struct mm_struct *mm)
{
	struct kw_space *space;

	if (!may_be_known(mm))
		return;
	spin_lock(&spaces_lock);
	space = kw_space_find(mm);
	if (space)
		end(space);
	spin_unlock(&spaces_lock);
}

static void end_all_gone(struct work_struct *work)
{
	struct kw_space *space;
	struct hlist_node *next;
	int i;

	spin_lock(&spaces_lock);
	hash_for_each_safe(spaces, i, next, space,
			   node) if (!kw_mm_is_used(space->mm)) end(space);
	spin_unlock(&spaces_lock);
}

static DECLARE_WORK(end_work, end_all_gone);

void kw_space_end_later(void)
{
	kw_queue(&end_work);
}

static void free_rcu(struct rcu_head *rcu)
{
	struct kw_space *space = container_of(rcu, struct kw_space, rcu);

	kw_map_put(rcu_dereference_protected(space->map, true));
	kfree(space);
}

void kw_space_put(struct kw_space *space)
{
	if (!refcount_dec_and_test(&space->ref))
		return;
	kw_user_put(space->owner.user);
	mmdrop(space->mm);
	call_rcu(&space->rcu, free_rcu);
}

/* The architecture of a process' code, by the size of its address space. */
static const struct ow_arch *arch_of(const struct mm_struct *mm)
{
	bool is_64 = mm->task_size > U32_MAX;

#if defined(CONFIG_X86) || defined(CONFIG_UML)
	return is_64 ? &ow_arch_x86_64 : &ow_arch_i386;
#else
	return is_64 ? &ow_arch_aarch64 : NULL;
#endif
}

/* A space of mm that nobody uses yet; an error pointer. */
static struct kw_space *space_alloc(struct mm_struct *mm,
				    struct task_struct *task)
{
	const struct ow_arch *arch = arch_of(mm);
	struct kw_space *space;

	if (!arch)
		return ERR_PTR(-EOPNOTSUPP);
	space = kzalloc(sizeof(*space), GFP_KERNEL_ACCOUNT);
	if (space)
		space->owner.user = kw_user_of_task(task, GFP_KERNEL);
	if (!space || !space->owner.user) {
		kfree(space);
		return ERR_PTR(-ENOMEM);
	}
	refcount_set(&space->ref, 1);
	mmgrab(mm);
	space->mm = mm;
	mutex_init(&space->mutex);
	space->owner.arch = arch;
	space->owner.mm = mm;
	INIT_LIST_HEAD(&space->owner.tracks);
	INIT_WORK(&space->reap, reap);
	INIT_WORK(&space->relink, relink);
	return space;
}

/* The space of mm, or else a new one, which may be NULL; the caller has the lock. */
static struct kw_space *find_or_add(struct mm_struct *mm,
				    struct kw_space *fresh)
{
	struct kw_space *space = kw_space_find(mm);

	if (space || !fresh)
		return space;
	hash_add_rcu(spaces, &fresh->node, (unsigned long)mm);
	return fresh;
}

/*
 * Return true if kw_space_end() will find the space, which has just been added or found:
 * the mm's last user has gone before it looks for one without the lock.
 */
static bool will_be_ended(const struct kw_space *space)
{
	smp_mb();
	return kw_mm_is_used(space->mm);
}

/*
 * One more user of the mm's space, the fresh one if there is no other.  NULL: there is
 * none; -ESRCH: its process is gone, of which kw_space_end() has told, or will tell.
 */
static struct kw_space *enter(struct mm_struct *mm, struct kw_space *fresh)
{
	struct kw_space *space;

	spin_lock(&spaces_lock);
	space = find_or_add(mm, fresh);
	if (space && !will_be_ended(space)) {
		if (space == fresh)
			hash_del_rcu(&fresh->node);
		space = ERR_PTR(-ESRCH);
	} else if (space) {
		space->users++;
		refcount_inc(&space->ref);
	}
	spin_unlock(&spaces_lock);
	return space;
}

/* The last user's leaving: it can't be found, though its process lives. */
static void leave(struct kw_space *space)
{
	spin_lock(&spaces_lock);
	if (--space->users == 0 && !space->dead)
		hash_del_rcu(&space->node);
	spin_unlock(&spaces_lock);
}

struct kw_space *kw_space_use(struct mm_struct *mm, struct task_struct *task)
{
	struct kw_space *space = enter(mm, NULL), *fresh;

	if (space)
		return space;
	fresh = space_alloc(mm, task);
	if (IS_ERR(fresh))
		return fresh;
	space = enter(mm, fresh);
	kw_space_put(fresh);
	return space;
}

void kw_space_unuse(struct kw_space *space)
{
	leave(space);
	kw_space_put(space);
}

struct kw_space *kw_space_find(const struct mm_struct *mm)
{
	struct kw_space *space;

	hash_for_each_possible_rcu(
		spaces, space, node, (unsigned long)mm,
		rcu_read_lock_any_held() ||
			lockdep_is_held(&spaces_lock)) if (space->mm ==
							   mm) return space;
	return NULL;
}

struct kw_map *kw_space_map(const struct mm_struct *mm)
{
	const struct kw_space *space = kw_space_find(mm);

	return space ? rcu_dereference_check(space->map,
					     rcu_read_lock_any_held()) :
		       NULL;
}

struct kw_map *kw_space_map_get(const struct mm_struct *mm)
{
	struct kw_space *space;
	struct kw_map *map = NULL;

	rcu_read_lock();
	space = kw_space_find(mm);
	if (space)
		map = current_map(space);
	rcu_read_unlock();
	return map;
}

void kw_space_refresh_current(void)
{
	struct kw_patience patience = { KW_PATIENCE };
	struct kw_space *space;

	if (!current->mm)
		return;
	rcu_read_lock();
	space = kw_space_find(current->mm);
	if (space && !refcount_inc_not_zero(&space->ref))
		space = NULL;
	rcu_read_unlock();
	if (!space)
		return;
	kw_space_refresh(space, false, &patience);
	kw_space_put(space);
}

void kw_space_init(void (*gone)(struct kw_space *space))
{
	on_gone = gone;
}

void kw_space_exit(void)
{
	kw_queue_flush(); /* what is gone, */
	kw_later_exit();  /* what was put off is done, */
	kw_queue_flush(); /* and what came of it; */
	rcu_barrier();    /* then the spaces, */
	rcu_barrier();    /* and their maps */
}
