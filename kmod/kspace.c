// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#include "kspace.h"

#include <linux/hashtable.h>
#include <linux/mm.h>
#include <linux/rculist.h>
#include <linux/sched/mm.h>

#include "klater.h"
#include "kpatience.h"
#include "kqueue.h"
#include "ktrack.h"
#include "kuser.h"

#define MAX_TRIMS 16 /* of a map, each of which is a copy */

/* Why the ranges of a space's map are to be linked to their tables again. */
enum due {
	DUE_MORE = 1, /* there are more tables */
	DUE_LESS = 2, /* some are no more, and are to be given back */
};

static DEFINE_HASHTABLE(spaces, 10); /* read under RCU */
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
	while (!err && !mmap_read_trylock(mm))
		err = kw_wait_a_moment(patience);
	return err;
}

/* Return true if mmap_lock is taken for writing now. */
static bool try_for_writing(struct mm_struct *mm)
{
	if (!down_write_trylock(&mm->mmap_lock))
		return false;
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 13, 0)
	/* As mmap_write_lock() does, for mmap_write_unlock(). */
	mm_lock_seqcount_begin(mm);
#endif
	return true;
}

/* A page fault that a FUSE server need not answer holds the lock for reading. */
static int lock_for_writing(struct mm_struct *mm, struct kw_patience *patience)
{
	int err = 0;

	if (mm == current->mm)
		return mmap_write_lock_killable(mm);
	while (!err && !try_for_writing(mm))
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
		ret = kw_user_of_task(current);
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

/* Give the map's ranges the tables that there are now. */
static void link_again(struct kw_space *space, int due)
{
	struct kw_map *old = current_map(space), *map;

	if (!old)
		return;
	map = kw_map_again(&space->owner, old);
	if (map)
		kw_map_tell_lacks(&space->owner, map, old);
	/* A mapping may have gone meanwhile, and the map with it. */
	if ((map || due & DUE_LESS) &&
	    cmpxchg(&space->map, RCU_INITIALIZER(old), RCU_INITIALIZER(map)) ==
		    RCU_INITIALIZER(old))
		kw_map_put(old);
	else
		kw_map_put(map);
	kw_map_put(old);
}

/*
 * Do what has become due meanwhile, once, and give the mutex back.  What becomes due
 * after that is left to the queue: the caller does not work for others for ever.
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

/* The caller has both locks.  -EAGAIN: it is to wait for memory without them. */
static int rebuild(struct refresh *r)
{
	struct kw_space *space = r->space;
	struct kw_map *map, *older;
	int err;

	if (r->newer)
		renew_owner(&space->owner, r->newer);
	r->newer = NULL;
	map = take_room(r);
	err = PTR_ERR_OR_ZERO(map);
	if (err == -ENOMEM && !r->waited)
		return -EAGAIN;
	atomic_set(&space->trims, 0);
	atomic_xchg(&space->due, 0);
	if (!err)
		err = kw_map_fill(&space->owner, map, space->mm);
	if (err == -EINTR) {
		kw_map_put(map);
		return err;
	}
	older = current_map(space);
	publish(space, err ? NULL : map);
	if (!err)
		kw_map_tell_lacks(&space->owner, map, r->again ? NULL : older);
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

static bool overlaps_code(struct kw_space *space, u64 start, u64 end)
{
	const struct kw_map *map;
	bool ret;

	rcu_read_lock();
	map = rcu_dereference(space->map);
	ret = map && kw_map_overlaps(map, start, end);
	rcu_read_unlock();
	return ret;
}

/* --- what happens to an mm --- */

/* Until there is a new one, the map is without that; nothing may sleep. */
static void trim(struct kw_space *space, u64 start, u64 end)
{
	struct kw_map *old = current_map(space), *map;

	if (!old)
		return;
	map = kw_map_without(&space->owner, old, start, end);
	if (cmpxchg(&space->map, RCU_INITIALIZER(old), RCU_INITIALIZER(map)) ==
	    RCU_INITIALIZER(old)) {
		kw_map_put(old);
	} else {
		kw_map_put(map);
		publish(space, NULL);
	}
	kw_map_put(old);
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

/* Code that goes away, or may not be executed: no walk may believe in it. */
static int on_invalidate(struct mmu_notifier *mn,
			 const struct mmu_notifier_range *range)
{
	struct kw_space *space = container_of(mn, struct kw_space, mn);

	if (range->event != MMU_NOTIFY_UNMAP &&
	    range->event != MMU_NOTIFY_PROTECTION_VMA)
		return 0;
	if (!overlaps_code(space, range->start, range->end))
		return 0;
	/* A call that does this to very many mappings isn't to copy as many maps. */
	if (atomic_inc_return(&space->trims) <= MAX_TRIMS)
		trim(space, range->start, range->end);
	else
		publish(space, NULL);
	if (current->mm == space->mm)
		refresh_later(space);
	return 0;
}

static void reap(struct work_struct *work)
{
	struct kw_space *space = container_of(work, struct kw_space, reap);

	on_gone(space);
	kw_space_put(space);
}

/* The process is gone, or executes something else. */
static void on_release(struct mmu_notifier *mn, struct mm_struct *mm)
{
	struct kw_space *space = container_of(mn, struct kw_space, mn);

	spin_lock(&spaces_lock);
	space->dead = true;
	hash_del_rcu(&space->node);
	spin_unlock(&spaces_lock);
	publish(space, NULL);
	refcount_inc(&space->ref);
	kw_queue(&space->reap);
}

/* Called with the mm's mmap_lock. */
static struct mmu_notifier *on_alloc(struct mm_struct *mm)
{
	struct kw_space *space = kzalloc(sizeof(*space), GFP_KERNEL_ACCOUNT);

	if (!space)
		return ERR_PTR(-ENOMEM);
	refcount_set(&space->ref, 1);
	mmgrab(mm);
	space->mm = mm;
	mutex_init(&space->mutex);
	INIT_LIST_HEAD(&space->owner.tracks);
	INIT_WORK(&space->reap, reap);
	INIT_WORK(&space->relink, relink);
	return &space->mn;
}

static void on_free(struct mmu_notifier *mn)
{
	kw_space_put(container_of(mn, struct kw_space, mn));
}

static const struct mmu_notifier_ops notifier_ops = {
	.invalidate_range_start = on_invalidate,
	.release = on_release,
	.alloc_notifier = on_alloc,
	.free_notifier = on_free,
};

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

/* One more user: it can be found.  False: its process is gone. */
static bool enter(struct kw_space *space)
{
	bool alive;

	spin_lock(&spaces_lock);
	alive = !space->dead;
	if (alive && space->users++ == 0)
		hash_add_rcu(spaces, &space->node, (unsigned long)space->mm);
	spin_unlock(&spaces_lock);
	return alive;
}

/* The last user's leaving: it can't be found, though its process lives. */
static void leave(struct kw_space *space)
{
	spin_lock(&spaces_lock);
	if (--space->users == 0)
		hash_del_rcu(&space->node);
	spin_unlock(&spaces_lock);
}

struct kw_space *kw_space_use(struct mm_struct *mm, struct task_struct *task,
			      struct kw_patience *patience)
{
	const struct ow_arch *arch = arch_of(mm);
	struct kw_user *user = kw_user_of_task(task);
	struct mmu_notifier *mn;
	struct kw_space *space;
	int err;

	if (!user || !arch) {
		kw_user_put(user);
		return ERR_PTR(user ? -EOPNOTSUPP : -ENOMEM);
	}
	err = lock_for_writing(mm, patience);
	if (err) {
		kw_user_put(user);
		return ERR_PTR(err);
	}
	mn = mmu_notifier_get_locked(&notifier_ops, mm);
	space = IS_ERR(mn) ? ERR_CAST(mn) :
			     container_of(mn, struct kw_space, mn);
	if (!IS_ERR(space) && !space->owner.user) {
		space->owner.arch = arch;
		space->owner.mm = mm;
		space->owner.user = user;
		user = NULL;
	}
	mmap_write_unlock(mm);
	kw_user_put(user);
	if (IS_ERR(space) || enter(space))
		return space;
	mmu_notifier_put(&space->mn);
	return ERR_PTR(-ESRCH);
}

void kw_space_unuse(struct kw_space *space)
{
	leave(space);
	mmu_notifier_put(&space->mn);
}

struct kw_space *kw_space_find(const struct mm_struct *mm)
{
	struct kw_space *space;

	hash_for_each_possible_rcu(
		spaces, space, node, (unsigned long)mm,
		rcu_read_lock_any_held()) if (space->mm == mm) return space;
	return NULL;
}

const struct kw_map *kw_space_map(const struct mm_struct *mm)
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
	kw_queue_flush();           /* what is gone */
	mmu_notifier_synchronize(); /* is freed, and puts off no more; */
	kw_later_exit();            /* what was put off is done, */
	kw_queue_flush();           /* and what came of it; */
	rcu_barrier();              /* then the spaces, */
	rcu_barrier();              /* and their maps */
}
