/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What each user holds of the kernel's memory, and how much that may be.  All that
 * a user holds is of the user's own share first, and of the share of all second.
 * A part of the latter is kept for privileged users.
 */
#ifndef KW_USER_H
#define KW_USER_H

#include <linux/sched.h>
#include <linux/types.h>
#include <linux/uidgid.h>

struct inode;
struct kw_user;

/* What is counted, for OW_KUNWIND_STATS. */
enum kw_kind {
	KW_TABLES,
	KW_TABLE_BYTES,
	KW_FOLLOWED,
	KW_MAP_BYTES,
	KW_KINDS
};

/*
 * The account of current, which opens a session, by its effective user ID; or that
 * of a task that is followed, by its user ID; a program that has another user's
 * rights, as a set-user-ID one, gives its user no privileges here.  Users of a user
 * namespace share the account of the user who made it, and subordinate ids that of the
 * user who has them (ksubuids.h).  A user's privileged sessions and processes have an
 * account of their own.  The caller gets a reference; NULL: out of memory.
 */
struct kw_user *kw_user_of_opener(bool privileged);
struct kw_user *kw_user_of_task(struct task_struct *task, gfp_t gfp);

/* The account of that user's processes. */
struct kw_user *kw_user_of_uid(kuid_t uid, bool privileged);

/* The account of who owns a file; root's is privileged. */
struct kw_user *kw_user_of_inode(const struct inode *inode);

/* The user of such an account, and of the one that a task has. */
kuid_t kw_user_uid_of_task(struct task_struct *task);
kuid_t kw_user_uid(const struct kw_user *user);
bool kw_user_is_privileged(const struct kw_user *user);

/* Return true if that is the account that such a task has now. */
bool kw_user_is_of(const struct kw_user *user, struct task_struct *task);

/* Take one more reference. */
struct kw_user *kw_user_share(struct kw_user *user);
void kw_user_put(struct kw_user *user);

/*
 * Take bytes of the user's share, then of the share of all.  Return 0, or -ENOSPC
 * with nothing taken.  Any process context that may take a spinlock.
 */
int kw_user_charge(struct kw_user *user, size_t bytes);
void kw_user_uncharge(struct kw_user *user, size_t bytes);

/* Where there is none left. */
enum kw_room {
	KW_ROOM,
	KW_USER_FULL,
	KW_ALL_FULL,
};

/*
 * The same of tables that the user's processes map, which leave a quarter of the user's
 * share for the rest; and whether it would be so.
 */
int kw_user_charge_mapped(struct kw_user *user, size_t bytes);
enum kw_room kw_user_room_mapped(const struct kw_user *user, size_t bytes);

/*
 * Set aside what a table takes that another user pays, as the user may have to pay it
 * later; and give it back.  Return false if there is no room: what the user pays and
 * nobody maps doesn't count, up to the limit once more.
 */
bool kw_user_set_aside(struct kw_user *user, size_t bytes);
void kw_user_give_back(struct kw_user *user, size_t bytes);

/*
 * Have a user pay what it has set aside.  Return false, and nothing has changed, if
 * these are a privileged user's bytes, and others have no room for them in all.
 */
bool kw_user_pass_aside(struct kw_user *from, struct kw_user *to, size_t bytes);

/* Return true if processes of the user's may map what it pays and nobody maps. */
bool kw_user_may_use_idle(const struct kw_user *user, size_t bytes);

/* So many bytes more, or less, that the user pays are of tables that nobody maps. */
void kw_user_note_idle(struct kw_user *user, s64 bytes);

/* Tables that the user pays and nobody maps; khold.c's. */
struct list_head *kw_user_idle(struct kw_user *user);

/* The bytes that the user has taken. */
u64 kw_user_bytes(struct kw_user *user);

/* Note that the user holds n more, or less, of a kind. */
void kw_user_note(struct kw_user *user, enum kw_kind kind, s64 n);

/* How much of a kind a user holds; NULL: all users. */
u64 kw_user_held(const struct kw_user *user, enum kw_kind kind);

u64 kw_user_limit(void);
u64 kw_all_limit(void);

#endif /* KW_USER_H */
