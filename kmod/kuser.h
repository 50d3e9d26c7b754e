/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What each user holds of the kernel's memory, and how much that may be. */
#ifndef KW_USER_H
#define KW_USER_H

#include <linux/types.h>
#include <linux/uidgid.h>

struct kw_user;

/* The account of a user, one more reference; NULL: out of memory. */
struct kw_user *kw_user_get(kuid_t uid);
/* One more reference. */
struct kw_user *kw_user_share(struct kw_user *user);
void kw_user_put(struct kw_user *user);

/* Take bytes of the user's share; -ENOSPC. */
int kw_user_charge(struct kw_user *user, size_t bytes);
void kw_user_uncharge(struct kw_user *user, size_t bytes);

/* Take bytes of what all users have together; -ENOSPC. */
int kw_all_charge(size_t bytes);
void kw_all_uncharge(size_t bytes);

u64 kw_user_limit(void);
u64 kw_all_limit(void);

#endif /* KW_USER_H */
