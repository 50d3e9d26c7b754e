// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#include "kuser.h"

#include <linux/capability.h>
#include <linux/cred.h>
#include <linux/fs.h>
#include <linux/list.h>
#include <linux/module.h>
#include <linux/refcount.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/user_namespace.h>

#include "ksubuids.h"

struct kw_user {
	struct list_head list;
	refcount_t ref;
	kuid_t uid;
	bool privileged;
	/* Under users_lock: */
	size_t bytes;      /* that it pays, */
	size_t idle_bytes; /* and of those, of tables that nobody maps */
	size_t aside_bytes; /* of tables that others pay, and its processes map */
	struct list_head idle;
	atomic64_t held[KW_KINDS];
};

static unsigned int max_user_mib = 64;
module_param(max_user_mib, uint, 0644);
MODULE_PARM_DESC(max_user_mib, "MiB that one user may hold");

static unsigned int max_all_mib = 512;
module_param(max_all_mib, uint, 0644);
MODULE_PARM_DESC(max_all_mib, "MiB that all users together may hold");

static unsigned int reserved_mib = 128;
module_param(reserved_mib, uint, 0644);
MODULE_PARM_DESC(reserved_mib,
		 "MiB of max_all_mib that only privileged users may hold");

static LIST_HEAD(users);
static DEFINE_SPINLOCK(users_lock);
/* Under users_lock: */
static size_t all_bytes;
static size_t others_bytes; /* those of users that aren't privileged */

static atomic64_t all_held[KW_KINDS];

u64 kw_user_limit(void)
{
	return (u64)READ_ONCE(max_user_mib) << 20;
}

u64 kw_all_limit(void)
{
	return (u64)READ_ONCE(max_all_mib) << 20;
}

/* What is left for users that aren't privileged. */
static u64 others_limit(void)
{
	u64 all = kw_all_limit(), kept = (u64)READ_ONCE(reserved_mib) << 20;

	return all > kept ? all - kept : 0;
}

/* The caller holds users_lock. */
static struct kw_user *find(kuid_t uid, bool privileged)
{
	struct kw_user *u;

	list_for_each_entry(u, &users, list)
		if (uid_eq(u->uid, uid) && u->privileged == privileged) {
			refcount_inc(&u->ref);
			return u;
		}
	return NULL;
}

/* One that there is already, or NULL. */
static struct kw_user *user_known(kuid_t uid, bool privileged)
{
	struct kw_user *u;

	spin_lock(&users_lock);
	u = find(uid, privileged);
	spin_unlock(&users_lock);
	return u;
}

static struct kw_user *user_new(kuid_t uid, bool privileged, gfp_t gfp)
{
	struct kw_user *fresh =
		kzalloc(sizeof(*fresh), gfp | __GFP_ACCOUNT | __GFP_NOWARN);
	struct kw_user *u;

	if (!fresh)
		return NULL;
	spin_lock(&users_lock);
	u = find(uid, privileged);
	if (!u) {
		fresh->uid = uid;
		fresh->privileged = privileged;
		refcount_set(&fresh->ref, 1);
		INIT_LIST_HEAD(&fresh->idle);
		list_add(&fresh->list, &users);
		u = fresh;
		fresh = NULL;
	}
	spin_unlock(&users_lock);
	kfree(fresh);
	return u;
}

static struct kw_user *user_get(kuid_t uid, bool privileged, gfp_t gfp)
{
	struct kw_user *u = user_known(uid, privileged);

	return u ? u : user_new(uid, privileged, gfp);
}

/*
 * A user may make as many user IDs as it likes in namespaces of its own, and has some
 * outside of these, too.
 */
static kuid_t payer(const struct user_namespace *ns, kuid_t uid)
{
	for (; ns != &init_user_ns; ns = ns->parent)
		uid = ns->owner;
	return kw_subuids_owner(uid);
}

struct kw_user *kw_user_of_opener(bool privileged)
{
	return user_get(payer(current_user_ns(), current_euid()),
			privileged || capable(CAP_SYS_RESOURCE), GFP_KERNEL);
}

/* What the account of a task is known by. */
static kuid_t account_of(struct task_struct *task, bool *privileged)
{
	const struct cred *cred;
	bool own;
	kuid_t uid;

	rcu_read_lock();
	cred = __task_cred(task);
	uid = payer(cred->user_ns, cred->uid);
	own = uid_eq(cred->uid, cred->euid);
	rcu_read_unlock();
	*privileged = own && has_capability_noaudit(task, CAP_SYS_RESOURCE);
	return uid;
}

struct kw_user *kw_user_of_task(struct task_struct *task, gfp_t gfp)
{
	bool privileged;
	kuid_t uid = account_of(task, &privileged);

	return user_get(uid, privileged, gfp);
}

bool kw_user_is_of(const struct kw_user *user, struct task_struct *task)
{
	bool privileged;
	kuid_t uid = account_of(task, &privileged);

	return uid_eq(user->uid, uid) && user->privileged == privileged;
}

struct kw_user *kw_user_of_uid(kuid_t uid, bool privileged)
{
	return user_get(kw_subuids_owner(uid), privileged, GFP_KERNEL);
}

struct kw_user *kw_user_of_inode(const struct inode *inode)
{
	kuid_t uid = payer(inode->i_sb->s_user_ns, inode->i_uid);

	return user_get(uid, uid_eq(uid, GLOBAL_ROOT_UID), GFP_KERNEL);
}

kuid_t kw_user_uid_of_task(struct task_struct *task)
{
	bool privileged;

	return account_of(task, &privileged);
}

kuid_t kw_user_uid(const struct kw_user *user)
{
	return user->uid;
}

bool kw_user_is_privileged(const struct kw_user *user)
{
	return user->privileged;
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

static bool fits(u64 held, u64 bytes, u64 limit)
{
	return bytes <= limit && held <= limit - bytes;
}

/* What is of use to a user's processes and sessions, whoever pays it. */
static size_t in_use(const struct kw_user *user)
{
	return user->bytes - user->idle_bytes + user->aside_bytes;
}

/* Where there is no room for more bytes of a user's; under users_lock. */
static enum kw_room room_for(const struct kw_user *user, size_t bytes,
			     u64 limit)
{
	if (!fits(in_use(user), bytes, limit))
		return KW_USER_FULL;
	if (!fits(all_bytes, bytes, kw_all_limit()) ||
	    (!user->privileged && !fits(others_bytes, bytes, others_limit())))
		return KW_ALL_FULL;
	return KW_ROOM;
}

/* Under users_lock. */
static void add(struct kw_user *user, size_t bytes)
{
	user->bytes += bytes;
	all_bytes += bytes;
	if (!user->privileged)
		others_bytes += bytes;
}

static void subtract(struct kw_user *user, size_t bytes)
{
	user->bytes -= bytes;
	all_bytes -= bytes;
	if (!user->privileged)
		others_bytes -= bytes;
}

void kw_user_uncharge(struct kw_user *user, size_t bytes)
{
	spin_lock(&users_lock);
	subtract(user, bytes);
	spin_unlock(&users_lock);
}

/* What tables may take that a user's processes map. */
static u64 mapped_limit(void)
{
	return kw_user_limit() / 4 * 3;
}

/* Under users_lock. */
static enum kw_room room_mapped(const struct kw_user *user, size_t bytes)
{
	u64 limit = mapped_limit();

	return fits(user->bytes, bytes, limit) ? room_for(user, bytes, limit) :
						 KW_USER_FULL;
}

static int charge(struct kw_user *user, size_t bytes, bool is_mapped)
{
	enum kw_room room;

	spin_lock(&users_lock);
	room = is_mapped ? room_mapped(user, bytes) :
			   room_for(user, bytes, kw_user_limit());
	if (room == KW_ROOM)
		add(user, bytes);
	spin_unlock(&users_lock);
	return room == KW_ROOM ? 0 : -ENOSPC;
}

int kw_user_charge(struct kw_user *user, size_t bytes)
{
	return charge(user, bytes, false);
}

int kw_user_charge_mapped(struct kw_user *user, size_t bytes)
{
	return charge(user, bytes, true);
}

enum kw_room kw_user_room_mapped(const struct kw_user *user, size_t bytes)
{
	enum kw_room room;

	spin_lock(&users_lock);
	room = room_mapped(user, bytes);
	spin_unlock(&users_lock);
	return room;
}

bool kw_user_set_aside(struct kw_user *user, size_t bytes)
{
	bool well;

	spin_lock(&users_lock);
	well = fits(in_use(user), bytes, mapped_limit()) &&
	       fits(user->bytes + user->aside_bytes, bytes,
		    2 * kw_user_limit());
	if (well)
		user->aside_bytes += bytes;
	spin_unlock(&users_lock);
	return well;
}

void kw_user_give_back(struct kw_user *user, size_t bytes)
{
	spin_lock(&users_lock);
	user->aside_bytes -= bytes;
	spin_unlock(&users_lock);
}

bool kw_user_pass_aside(struct kw_user *from, struct kw_user *to, size_t bytes)
{
	bool well;

	spin_lock(&users_lock);
	subtract(from, bytes);
	well = to->privileged || fits(others_bytes, bytes, others_limit());
	add(well ? to : from, bytes);
	if (well)
		to->aside_bytes -= bytes;
	spin_unlock(&users_lock);
	return well;
}

bool kw_user_may_use_idle(const struct kw_user *user, size_t bytes)
{
	bool well;

	spin_lock(&users_lock);
	well = fits(in_use(user), bytes, kw_user_limit());
	spin_unlock(&users_lock);
	return well;
}

void kw_user_note_idle(struct kw_user *user, s64 bytes)
{
	spin_lock(&users_lock);
	user->idle_bytes += bytes;
	spin_unlock(&users_lock);
}

struct list_head *kw_user_idle(struct kw_user *user)
{
	return &user->idle;
}

u64 kw_user_bytes(struct kw_user *user)
{
	u64 bytes;

	spin_lock(&users_lock);
	bytes = user->bytes;
	spin_unlock(&users_lock);
	return bytes;
}

void kw_user_note(struct kw_user *user, enum kw_kind kind, s64 n)
{
	atomic64_add(n, &user->held[kind]);
	atomic64_add(n, &all_held[kind]);
}

u64 kw_user_held(const struct kw_user *user, enum kw_kind kind)
{
	return atomic64_read(user ? &user->held[kind] : &all_held[kind]);
}
