/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Whose processes map which table, and so who pays for it: one of those users, while the
 * others have set aside what they'd have to pay, so that nobody uses up another user's
 * share by mapping what others own, or once used.  A table that nobody maps stays while
 * its payer needs no room.
 */
#ifndef KW_HOLD_H
#define KW_HOLD_H

#include "ktable.h"

struct kw_user;

/* A user's processes map a table. */
struct kw_hold {
	struct hlist_node node; /* by table and user */
	struct list_head list;  /* of the table */
	struct kw_table *table; /* a reference */
	struct kw_user *user;   /* a reference */
	unsigned int nr;        /* of its mappings */
	size_t aside; /* bytes of the table, which another user pays */
};

/*
 * A table has one mapping more of that user's; takes over the caller's reference to it.
 * Waits for no memory.  NULL: no room.
 */
struct kw_hold *kw_hold_add(struct kw_table *table, struct kw_user *user);
/* One mapping more of what there is; does not sleep. */
struct kw_hold *kw_hold_share(struct kw_hold *hold);
/* One less; NULL is none. */
void kw_hold_put(struct kw_hold *hold);

/* A table has its first use, so that it may be mapped; or has had its last one. */
void kw_hold_begin(struct kw_table *table);
void kw_hold_end(struct kw_table *table);

/*
 * A table, with a reference, that nobody has mapped for the longest time, and that has
 * uses: of the user's, or, where any is set, of any whose going makes room for the user.
 * NULL: there is none.
 */
struct kw_table *kw_hold_idle(struct kw_user *user, bool any);

#endif /* KW_HOLD_H */
