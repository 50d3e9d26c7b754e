// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#include "kspace.h"

#include <linux/hashtable.h>
#include <linux/mm.h>
#include <linux/rculist.h>
#include <linux/sched/mm.h>

#include "kfollow.h"
#include "kheirs.h"
#include "klater.h"
#include "kstats.h"
#include "kuser.h"

#define MAX_RANGES 65536 /* above sysctl vm.max_map_count's default */

static DEFINE_HASHTABLE(spaces, 10); /* read under RCU */
static DEFINE_SPINLOCK(spaces_lock);
static struct workqueue_struct *queue;
static atomic_t generation = ATOMIC_INIT(0);

/* --- maps --- */

static void map_free(struct work_struct *work)
{
	struct kw_map *map =
		container_of(to_rcu_work(work), struct kw_map, free);
	size_t i;

	for (i = 0; i < map->map.nr; i++)
		kw_table_put(map->places[i].table);
	kw_all_uncharge(map->bytes);
	kw_user_uncharge(map->user, map->bytes);
	kw_user_put(map->user);
	atomic64_sub(map->bytes, &kw_gauges.map_bytes);
	kvfree(map);
}

void kw_map_put(struct kw_map *map)
{
	if (map && refcount_dec_and_test(&map->ref)) {
		INIT_RCU_WORK(&map->free, map_free);
		queue_rcu_work(queue, &map->free);
	}
}

/* A map with room for nr ranges; an error pointer on failure. */
static struct kw_map *map_alloc(struct kw_space *space, size_t nr, gfp_t gfp)
{
	size_t each = sizeof(struct ow_range) + sizeof(struct ow_module) +
		      sizeof(struct kw_place);
	size_t bytes = sizeof(struct kw_map) + nr * each;
	struct kw_map *map;

	if (nr > MAX_RANGES || kw_user_charge(space->user, bytes))
		return ERR_PTR(-ENOSPC);
	if (kw_all_charge(bytes)) {
		kw_user_uncharge(space->user, bytes);
		return ERR_PTR(-ENOSPC);
	}
	map = gfp == GFP_KERNEL ? kvzalloc(bytes, gfp | __GFP_NOWARN) :
				  kzalloc(bytes, gfp | __GFP_NOWARN);
	if (!map) {
		kw_all_uncharge(bytes);
		kw_user_uncharge(space->user, bytes);
		return ERR_PTR(-ENOMEM);
	}
	refcount_set(&map->ref, 1);
	map->bytes = bytes;
	map->arch = space->arch;
	map->user = kw_user_share(space->user);
	map->modules = (void *)(map + 1);
	map->ranges = (void *)(map->modules + nr);
	map->places = (void *)(map->ranges + nr);
	map->map.ranges = map->ranges;
	do {
		map->map.generation = atomic_inc_return(&generation);
	} while (!map->map.generation);
	atomic64_add(bytes, &kw_gauges.map_bytes);
	return map;
}

/* Give range i its module, and that its table. */
static void link_range(struct kw_space *space, struct kw_map *map, size_t i)
{
	struct kw_place *place = &map->places[i];
	struct ow_range *range = &map->ranges[i];
	struct ow_module *m = &map->modules[i];
	struct kw_found found;

	if (!place->is_object)
		return;
	range->module = m;
	m->state = OW_MODULE_READY;
	if (!kw_table_find(space, &place->object, range->start, place->off,
			   range->end - range->start, &found))
		return;
	place->table = found.table;
	m->table = &found.table->table;
	m->bias = found.bias;
	m->entry = found.entry;
}

static bool is_vdso(const struct vm_area_struct *vma)
{
#if defined(CONFIG_X86) && !defined(CONFIG_UML)
	return vma->vm_start == (unsigned long)vma->vm_mm->context.vdso;
#elif defined(CONFIG_ARM64)
	return vma->vm_start == (unsigned long)vma->vm_mm->context.vdso;
#else
	return false;
#endif
}

static void add_vma(struct kw_map *map, const struct vm_area_struct *vma)
{
	size_t i = map->map.nr++;
	struct kw_place *place = &map->places[i];

	map->ranges[i].start = vma->vm_start;
	map->ranges[i].end = vma->vm_end;
	if (vma->vm_file) {
		kw_object_of(file_inode(vma->vm_file), &place->object);
		place->off = (u64)vma->vm_pgoff << PAGE_SHIFT;
		place->is_object = true;
	} else {
		place->is_object = is_vdso(vma);
	}
}

/* A map of the mm as it is; the caller holds its mmap_lock and the mutex. */
static struct kw_map *map_build(struct kw_space *space)
{
	struct vm_area_struct *vma;
	struct kw_map *map;
	size_t nr = 0, i;

	{
		VMA_ITERATOR(vmi, space->mm, 0);
		for_each_vma(vmi, vma) nr += !!(vma->vm_flags & VM_EXEC);
	}
	map = map_alloc(space, nr, GFP_KERNEL);
	if (IS_ERR(map))
		return map;
	{
		VMA_ITERATOR(vmi, space->mm, 0);
		for_each_vma(vmi, vma) if (vma->vm_flags & VM_EXEC &&
					   map->map.nr < nr) add_vma(map, vma);
	}
	for (i = 0; i < map->map.nr; i++)
		link_range(space, map, i);
	return map;
}

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

int kw_space_refresh(struct kw_space *space, bool again)
{
	struct kw_map *map, *older;

	if (mmap_read_lock_killable(space->mm))
		return -EINTR;
	mutex_lock(&space->mutex);
	map = map_build(space);
	older = current_map(space);
	publish(space, IS_ERR(map) ? NULL : map);
	if (!IS_ERR(map))
		kw_follow_lacks(space, map, again ? NULL : older);
	kw_map_put(older);
	mutex_unlock(&space->mutex);
	mmap_read_unlock(space->mm);
	return PTR_ERR_OR_ZERO(map);
}

static bool map_has(const struct kw_map *map, const struct kw_object *object)
{
	size_t i;

	for (i = 0; map && i < map->map.nr; i++)
		if (map->places[i].is_object &&
		    kw_object_equal(&map->places[i].object, object))
			return true;
	return false;
}

/* The same ranges with the tables that there are now. */
static struct kw_map *map_again(struct kw_space *space,
				const struct kw_map *old)
{
	struct kw_map *map = map_alloc(space, old->map.nr, GFP_KERNEL);
	size_t i;

	if (IS_ERR(map))
		return NULL;
	map->map.nr = old->map.nr;
	for (i = 0; i < map->map.nr; i++) {
		map->ranges[i] = old->ranges[i];
		map->ranges[i].module = NULL;
		map->places[i] = old->places[i];
		map->places[i].table = NULL;
		link_range(space, map, i);
	}
	return map;
}

void kw_space_relink(struct kw_space *space, const struct kw_object *object)
{
	struct kw_map *old, *map;

	mutex_lock(&space->mutex);
	old = current_map(space);
	if (map_has(old, object)) {
		map = map_again(space, old);
		if (map)
			kw_follow_lacks(space, map, old);
		/* A mapping may have gone meanwhile, and the map with it. */
		if (cmpxchg(&space->map, RCU_INITIALIZER(old),
			    RCU_INITIALIZER(map)) == RCU_INITIALIZER(old))
			kw_map_put(old);
		else
			kw_map_put(map);
	}
	kw_map_put(old);
	mutex_unlock(&space->mutex);
}

/* --- what happens to an mm --- */

/* The map but for what overlaps [start, end); NULL: no memory at hand. */
static struct kw_map *map_without(struct kw_space *space,
				  const struct kw_map *old, u64 start, u64 end)
{
	struct kw_map *map = map_alloc(space, old->map.nr, GFP_NOWAIT);
	size_t i, k;

	if (IS_ERR(map))
		return NULL;
	for (i = 0; i < old->map.nr; i++) {
		if (old->ranges[i].start < end && old->ranges[i].end > start)
			continue;
		k = map->map.nr++;
		map->ranges[k] = old->ranges[i];
		map->modules[k] = old->modules[i];
		map->places[k] = old->places[i];
		if (map->ranges[k].module)
			map->ranges[k].module = &map->modules[k];
		if (map->places[k].table)
			refcount_inc(&map->places[k].table->ref);
	}
	return map;
}

/* Until there is a new one, the map is without that; nothing may sleep. */
static void trim(struct kw_space *space, u64 start, u64 end)
{
	struct kw_map *old = current_map(space), *map;

	if (!old)
		return;
	map = map_without(space, old, start, end);
	if (cmpxchg(&space->map, RCU_INITIALIZER(old), RCU_INITIALIZER(map)) ==
	    RCU_INITIALIZER(old)) {
		kw_map_put(old);
	} else {
		kw_map_put(map);
		publish(space, NULL);
	}
	kw_map_put(old);
}

static bool overlaps_code(struct kw_space *space, u64 start, u64 end)
{
	const struct ow_range *r;
	const struct kw_map *map;
	size_t low = 0, high, mid;
	bool ret;

	rcu_read_lock();
	map = rcu_dereference(space->map);
	high = map ? map->map.nr : 0;
	while (low < high) {
		mid = low + (high - low) / 2;
		if (map->ranges[mid].end <= start)
			low = mid + 1;
		else
			high = mid;
	}
	r = map && low < map->map.nr ? &map->ranges[low] : NULL;
	ret = r && r->start < end;
	rcu_read_unlock();
	return ret;
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
	trim(space, range->start, range->end);
	kw_space_refresh_later(space->mm);
	return 0;
}

static void reap(struct work_struct *work)
{
	struct kw_space *space = container_of(work, struct kw_space, reap);

	kw_follow_reap(space);
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
	queue_work(queue, &space->reap);
}

/* Called with the mm's mmap_lock. */
static struct mmu_notifier *on_alloc(struct mm_struct *mm)
{
	struct kw_space *space = kzalloc(sizeof(*space), GFP_KERNEL_ACCOUNT);

	if (!space)
		return ERR_PTR(-ENOMEM);
	refcount_set(&space->ref, 1);
	space->mm = mm;
	mutex_init(&space->mutex);
	INIT_LIST_HEAD(&space->tracks);
	INIT_LIST_HEAD(&space->all);
	INIT_WORK(&space->reap, reap);
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
	kw_user_put(space->user);
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

struct kw_space *kw_space_use(struct mm_struct *mm, kuid_t uid)
{
	const struct ow_arch *arch = arch_of(mm);
	struct kw_user *user = kw_user_get(uid);
	struct mmu_notifier *mn;
	struct kw_space *space;

	if (!user || !arch) {
		kw_user_put(user);
		return ERR_PTR(user ? -EOPNOTSUPP : -ENOMEM);
	}
	if (mmap_write_lock_killable(mm)) {
		kw_user_put(user);
		return ERR_PTR(-EINTR);
	}
	mn = mmu_notifier_get_locked(&notifier_ops, mm);
	space = IS_ERR(mn) ? ERR_CAST(mn) :
			     container_of(mn, struct kw_space, mn);
	if (!IS_ERR(space) && !space->user) {
		space->arch = arch;
		space->user = user;
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

	hash_for_each_possible_rcu(spaces, space, node,
				   (unsigned long)mm) if (space->mm ==
							  mm) return space;
	return NULL;
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

static void refresh_now(void *arg)
{
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
	kw_space_refresh(space, false);
	kw_space_put(space);
}

void kw_space_catch_up(void)
{
	if (!(kw_heirs_features() & OW_KUNWIND_TRACKS_MMAP))
		refresh_now(NULL);
}

void kw_space_refresh_later(struct mm_struct *mm)
{
	if (current->mm == mm)
		kw_later(current, refresh_now, NULL);
}

void kw_space_queue(struct work_struct *work)
{
	queue_work(queue, work);
}

int kw_space_init(void)
{
	queue = alloc_workqueue("kunwind", WQ_UNBOUND, 0);
	return queue ? 0 : -ENOMEM;
}

void kw_space_exit(void)
{
	flush_workqueue(queue);     /* what is reaped, */
	mmu_notifier_synchronize(); /* is freed; */
	rcu_barrier();              /* then the spaces, */
	rcu_barrier();              /* and their maps */
	destroy_workqueue(queue);
}
