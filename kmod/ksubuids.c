// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#include "ksubuids.h"

#include <linux/capability.h>
#include <linux/mm.h>
#include <linux/mutex.h>
#include <linux/overflow.h>
#include <linux/rcupdate.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

struct list {
	struct rcu_head rcu;
	u32 nr; /* not 0 */
	struct ow_kunwind_subuid all[];
};

static struct list __rcu *known; /* changes under known_mutex */
static DEFINE_MUTEX(known_mutex);

/* Return true if it is sorted, and no id is in two ranges, root's or no user's. */
static bool is_sound(const struct list *l)
{
	u32 i, above = 0;

	for (i = 0; i < l->nr; i++) {
		if (l->all[i].first <= above ||
		    l->all[i].last < l->all[i].first ||
		    l->all[i].last == (u32)-1 || !l->all[i].owner ||
		    l->all[i].owner == (u32)-1)
			return false;
		above = l->all[i].last;
	}
	return true;
}

static struct list *copy(const struct ow_kunwind_subuids *from)
{
	struct list *l =
		kvzalloc(struct_size(l, all, from->nr), GFP_KERNEL_ACCOUNT);

	if (!l)
		return ERR_PTR(-ENOMEM);
	l->nr = from->nr;
	if (copy_from_user(l->all, u64_to_user_ptr(from->ranges),
			   flex_array_size(l, all, l->nr))) {
		kvfree(l);
		return ERR_PTR(-EFAULT);
	}
	if (!is_sound(l)) {
		kvfree(l);
		return ERR_PTR(-EINVAL);
	}
	return l;
}

int kw_subuids_take(const struct ow_kunwind_subuids *from)
{
	struct list *l = NULL;

	if (!capable(CAP_SYS_ADMIN))
		return -EPERM;
	if (from->nr > OW_KUNWIND_MAX_SUBUIDS || from->reserved)
		return -EINVAL;
	if (from->nr)
		l = copy(from);
	if (IS_ERR(l))
		return PTR_ERR(l);
	mutex_lock(&known_mutex);
	l = rcu_replace_pointer(known, l, lockdep_is_held(&known_mutex));
	mutex_unlock(&known_mutex);
	if (l)
		kvfree_rcu(l, rcu);
	return 0;
}

/* The last range that begins at or below uid, or the first one. */
static const struct ow_kunwind_subuid *find(const struct list *l, u32 uid)
{
	u32 from = 0, to = l->nr, mid;

	while (to - from > 1) {
		mid = from + (to - from) / 2;
		if (l->all[mid].first <= uid)
			from = mid;
		else
			to = mid;
	}
	return &l->all[from];
}

kuid_t kw_subuids_owner(kuid_t uid)
{
	const struct ow_kunwind_subuid *s;
	const struct list *l;
	u32 id = __kuid_val(uid);

	rcu_read_lock();
	l = rcu_dereference(known);
	if (l && id >= l->all[0].first) {
		s = find(l, id);
		if (id <= s->last)
			uid = KUIDT_INIT(s->owner);
	}
	rcu_read_unlock();
	return uid;
}

void kw_subuids_exit(void)
{
	kvfree(rcu_dereference_protected(known, true));
}
