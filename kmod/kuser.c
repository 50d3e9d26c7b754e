// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#include "kuser.h"

#include <linux/list.h>
#include <linux/module.h>
#include <linux/refcount.h>
#include <linux/slab.h>
#include <linux/spinlock.h>

struct kw_user {
	struct list_head list;
	refcount_t ref;
	kuid_t uid;
	size_t bytes; /* under users_lock */
};

static unsigned int max_user_mib = 64;
module_param(max_user_mib, uint, 0644);
MODULE_PARM_DESC(max_user_mib, "MiB of tables and maps that one user may hold");

static unsigned int max_all_mib = 512;
module_param(max_all_mib, uint, 0644);
MODULE_PARM_DESC(max_all_mib, "MiB of tables and maps that all may hold");

static LIST_HEAD(users);
static DEFINE_SPINLOCK(users_lock);
static size_t all_bytes; /* under users_lock */

u64 kw_user_limit(void)
{
	return (u64)READ_ONCE(max_user_mib) << 20;
}

u64 kw_all_limit(void)
{
	return (u64)READ_ONCE(max_all_mib) << 20;
}

/* The caller holds users_lock. */
static struct kw_user *find(kuid_t uid)
{
	struct kw_user *u;

	list_for_each_entry(u, &users, list)
		if (uid_eq(u->uid, uid)) {
			refcount_inc(&u->ref);
			return u;
		}
	return NULL;
}

struct kw_user *kw_user_get(kuid_t uid)
{
	struct kw_user *fresh = kzalloc(sizeof(*fresh), GFP_KERNEL), *u;

	if (!fresh)
		return NULL;
	spin_lock(&users_lock);
	u = find(uid);
	if (!u) {
		fresh->uid = uid;
		refcount_set(&fresh->ref, 1);
		list_add(&fresh->list, &users);
		u = fresh;
		fresh = NULL;
	}
	spin_unlock(&users_lock);
	kfree(fresh);
	return u;
}

struct kw_user *kw_user_share(struct kw_user *user)
{
	refcount_inc(&user->ref);
	return user;
}

void kw_user_put(struct kw_user *user)
{
	if (!user || !refcount_dec_and_lock(&user->ref, &users_lock))
		return;
	list_del(&user->list);
	spin_unlock(&users_lock);
	WARN_ON_ONCE(user->bytes);
	kfree(user);
}

static int charge(size_t *held, u64 limit, size_t bytes)
{
	int err = 0;

	spin_lock(&users_lock);
	if (bytes > limit || *held > limit - bytes)
		err = -ENOSPC;
	else
		*held += bytes;
	spin_unlock(&users_lock);
	return err;
}

static void uncharge(size_t *held, size_t bytes)
{
	spin_lock(&users_lock);
	*held -= bytes;
	spin_unlock(&users_lock);
}

int kw_user_charge(struct kw_user *user, size_t bytes)
{
	return charge(&user->bytes, kw_user_limit(), bytes);
}

void kw_user_uncharge(struct kw_user *user, size_t bytes)
{
	uncharge(&user->bytes, bytes);
}

int kw_all_charge(size_t bytes)
{
	return charge(&all_bytes, kw_all_limit(), bytes);
}

void kw_all_uncharge(size_t bytes)
{
	uncharge(&all_bytes, bytes);
}
