// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#include "kmap.h"

#include <linux/kdev_t.h>
#include <linux/memcontrol.h>
#include <linux/mm.h>
#include <linux/sched/mm.h>
#include <linux/sched/signal.h>
#include <linux/vmalloc.h>

#include "khold.h"
#include "kqueue.h"
#include "ktrack.h"
#include "kuser.h"

#define MAX_RANGES 65536 /* above sysctl vm.max_map_count's default */
#define SMALL_MAP  (64u << 10)
#define GFP_OF_MAP (__GFP_ACCOUNT | __GFP_NOWARN)

static atomic64_t last_generation = ATOMIC64_INIT(0);
static u32 last_high; /* half of it, a moment later */

static void map_free(struct work_struct *work)
{
	struct kw_map *map =
		container_of(to_rcu_work(work), struct kw_map, free);
	size_t i;

	for (i = 0; i < map->map.nr; i++)
		kw_hold_put(map->places[i].hold);
	kw_user_note(map->user, KW_MAP_BYTES, -(s64)map->bytes);
	kw_user_uncharge(map->user, map->bytes);
	kw_user_put(map->user);
	kvfree(map);
}

void kw_map_put(struct kw_map *map)
{
	if (map && refcount_dec_and_test(&map->ref)) {
		INIT_RCU_WORK(&map->free, map_free);
		kw_queue_rcu(&map->free);
	}
}

/* Where there is none left, nobody tries for long: others may be waiting. */
static void *get_waiting(size_t bytes)
{
	return kvzalloc(bytes, GFP_KERNEL | GFP_OF_MAP | __GFP_NORETRY);
}

/* The caller is in any context. */
static void *get_atomic(size_t bytes)
{
	return kzalloc(bytes, GFP_NOWAIT | GFP_OF_MAP);
}

/* The caller may sleep, but does not wait for memory. */
static void *get_now(size_t bytes)
{
	void *ret = get_atomic(bytes);

	return ret ? ret :
		     __vmalloc(bytes, GFP_NOWAIT | GFP_OF_MAP | __GFP_ZERO);
}

/*
 * For a map that replaces another.  A small one is charged even where the memory cgroup
 * is full, as many are of page cache that nothing is reclaimed of here.
 */
static void *get_another(size_t bytes)
{
	if (bytes <= SMALL_MAP)
		return kzalloc(bytes, GFP_NOWAIT | GFP_OF_MAP | __GFP_HIGH);
	return get_now(bytes);
}

/* Memory that the address space's own cgroup pays, whoever makes the map. */
static void *get_for(struct mm_struct *mm, void *(*get)(size_t bytes),
		     size_t bytes)
{
	struct mem_cgroup *payer = get_mem_cgroup_from_mm(mm);
	struct mem_cgroup *old = set_active_memcg(payer);
	void *ret = get(bytes);

	set_active_memcg(old);
	mem_cgroup_put(payer);
	return ret;
}

static u64 next_generation(void)
{
	u64 ret;

	do {
		ret = atomic64_inc_return(&last_generation);
	} while (!lower_32_bits(ret));
	if (unlikely(READ_ONCE(last_high) < upper_32_bits(ret)))
		WRITE_ONCE(last_high, upper_32_bits(ret));
	return ret;
}

u64 kw_map_generation(struct kw_map *map)
{
	u64 own = atomic64_read(&map->generation), fresh, found;

	if (likely(upper_32_bits(own) == READ_ONCE(last_high)))
		return own;
	fresh = next_generation();
	found = atomic64_cmpxchg(&map->generation, own, fresh);
	return found == own ? fresh : found;
}

/* A map with room for nr ranges; an error pointer on failure. */
static struct kw_map *map_alloc(const struct kw_owner *owner,
				struct kw_user *user, size_t nr,
				void *(*get)(size_t bytes))
{
	size_t each = sizeof(struct ow_range) + sizeof(struct ow_module) +
		      sizeof(struct kw_place);
	size_t bytes = sizeof(struct kw_map) + nr * each;
	struct kw_map *map;

	if (nr > MAX_RANGES || kw_user_charge(user, bytes))
		return ERR_PTR(-ENOSPC);
	map = get_for(owner->mm, get, bytes);
	if (!map) {
		kw_user_uncharge(user, bytes);
		return ERR_PTR(-ENOMEM);
	}
	refcount_set(&map->ref, 1);
	map->bytes = bytes;
	map->room = nr;
	map->arch = owner->arch;
	map->user = kw_user_share(user);
	map->modules = (void *)(map + 1);
	map->ranges = (void *)(map->modules + nr);
	map->places = (void *)(map->ranges + nr);
	map->map.ranges = map->ranges;
	atomic64_set(&map->generation, next_generation());
	kw_user_note(map->user, KW_MAP_BYTES, bytes);
	return map;
}

struct kw_map *kw_map_alloc(const struct kw_owner *owner, struct kw_user *user,
			    size_t nr)
{
	size_t more = min_t(size_t, nr + nr / 8 + 16, MAX_RANGES);

	return map_alloc(owner, user, max(nr, more), get_waiting);
}

struct kw_map *kw_map_alloc_now(const struct kw_owner *owner, size_t nr)
{
	return map_alloc(owner, owner->user, nr, get_now);
}

/* Give range i its module, and that its table. */
static void link_range(const struct kw_owner *owner, struct kw_map *map,
		       size_t i)
{
	struct kw_place *place = &map->places[i];
	struct ow_range *range = &map->ranges[i];
	struct ow_module *m = &map->modules[i];
	struct kw_mapped mapped = {
		.object = place->object,
		.start = range->start,
		.off = place->off,
		.size = range->end - range->start,
	};
	struct kw_found found;

	if (!place->is_object)
		return;
	range->module = m;
	m->state = OW_MODULE_READY;
	if (!kw_use_find(&mapped, owner->arch, &owner->tracks, &found))
		return;
	place->hold = kw_hold_add(found.table, map->user);
	if (!place->hold)
		return;
	m->table = &found.table->table;
	m->rare = found.table->rare.nr_rows ? &found.table->rare : NULL;
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

size_t kw_map_count(struct mm_struct *mm)
{
	struct vm_area_struct *vma;
	size_t nr = 0;

	VMA_ITERATOR(vmi, mm, 0);
	for_each_vma(vmi, vma) nr += !!(vma->vm_flags & VM_EXEC);
	return nr;
}

int kw_map_fill(const struct kw_owner *owner, struct kw_map *map,
		struct mm_struct *mm)
{
	struct vm_area_struct *vma;
	size_t i;

	VMA_ITERATOR(vmi, mm, 0);
	for_each_vma(vmi, vma)
	{
		if (vma->vm_flags & VM_EXEC && map->map.nr < map->room)
			add_vma(map, vma);
	}
	for (i = 0; i < map->map.nr; i++) {
		if (fatal_signal_pending(current))
			return -EINTR;
		link_range(owner, map, i);
		cond_resched();
	}
	return 0;
}

static bool is_cut(const struct ow_range *range)
{
	return READ_ONCE(range->end) == range->start;
}

bool kw_map_has(const struct kw_map *map, const struct kw_object *object)
{
	size_t i;

	for (i = 0; i < map->map.nr; i++)
		if (map->places[i].is_object &&
		    kw_object_equal(&map->places[i].object, object))
			return true;
	return false;
}

/* Have range i be that of the older map, with the table that there is now. */
static void link_copy(const struct kw_owner *owner, struct kw_map *map,
		      const struct kw_map *old, size_t i)
{
	map->ranges[i] = old->ranges[i];
	map->ranges[i].module = NULL;
	map->places[i] = old->places[i];
	map->places[i].hold = NULL;
	if (!is_cut(&map->ranges[i]))
		link_range(owner, map, i);
}

struct kw_map *kw_map_again(const struct kw_owner *owner,
			    const struct kw_map *old)
{
	struct kw_map *map =
		map_alloc(owner, owner->user, old->map.nr, get_another);
	size_t i;

	if (IS_ERR(map))
		return NULL;
	map->map.nr = old->map.nr;
	for (i = 0; i < map->map.nr; i++) {
		if (fatal_signal_pending(current)) {
			kw_map_put(map);
			return ERR_PTR(-EINTR);
		}
		link_copy(owner, map, old, i);
		cond_resched();
	}
	return map;
}

/* The first range that ends above addr. */
static size_t first_above(const struct kw_map *map, u64 addr)
{
	size_t low = 0, high = map->map.nr, mid;

	while (low < high) {
		mid = low + (high - low) / 2;
		if (READ_ONCE(map->ranges[mid].end) <= addr)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

static void cut_range(struct ow_range *range)
{
	WRITE_ONCE(range->end, range->start);
}

bool kw_map_cut(struct kw_map *map, u64 start, u64 end)
{
	bool ret = false;
	size_t i;

	for (i = first_above(map, start); i < map->map.nr; i++) {
		if (map->ranges[i].start >= end)
			break;
		if (is_cut(&map->ranges[i]))
			continue;
		cut_range(&map->ranges[i]);
		ret = true;
	}
	/* What walks remember of the older one. */
	if (ret)
		atomic64_set(&map->generation, next_generation());
	return ret;
}

void kw_map_cut_as(struct kw_map *map, const struct kw_map *older)
{
	bool any = false;
	size_t i;

	for (i = 0; i < map->map.nr; i++)
		if (is_cut(&older->ranges[i]) && !is_cut(&map->ranges[i])) {
			cut_range(&map->ranges[i]);
			any = true;
		}
	if (any)
		atomic64_set(&map->generation, next_generation());
}

/* Did the older map lack the same object's table, too? */
static bool was_told(const struct kw_map *older, size_t *at,
		     const struct ow_range *range, const struct kw_place *place)
{
	if (!older)
		return false;
	while (*at < older->map.nr && older->ranges[*at].start < range->start)
		(*at)++;
	return *at < older->map.nr &&
	       older->ranges[*at].start == range->start &&
	       older->places[*at].is_object && !older->places[*at].hold &&
	       kw_object_equal(&older->places[*at].object, &place->object);
}

void kw_map_tell_lacks(const struct kw_owner *owner, const struct kw_map *map,
		       const struct kw_map *older)
{
	struct ow_kunwind_event what = { .kind = OW_KUNWIND_EV_LACKS };
	const struct kw_place *place;
	size_t i, at = 0;

	for (i = 0; i < map->map.nr; i++) {
		place = &map->places[i];
		if (!place->is_object || place->hold ||
		    is_cut(&map->ranges[i]) ||
		    was_told(older, &at, &map->ranges[i], place))
			continue;
		what.dev = place->object.dev ?
				   new_encode_dev(place->object.dev) :
				   0;
		what.ino = place->object.ino;
		what.start = map->ranges[i].start;
		what.end = map->ranges[i].end;
		what.off = place->off;
		kw_tracks_tell(&owner->tracks, &what);
	}
}
