/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Lists that are gone through while they change.  A visitor is in the list itself, after
 * the member that it visited last, so that the list's lock is held for one step at a
 * time.
 */
#ifndef KW_VISIT_H
#define KW_VISIT_H

#include <linux/list.h>

/* A member of such a list, or a visitor. */
struct kw_member {
	struct list_head list;
	bool is_visitor;
};

/* All of this is called with the list's lock. */

static inline void kw_visit_begin(struct kw_member *visitor,
				  struct list_head *members)
{
	visitor->is_visitor = true;
	list_add(&visitor->list, members);
}

/* The next one; or NULL where there is none, and the visitor has left. */
static inline struct kw_member *kw_visit_next(struct kw_member *visitor,
					      struct list_head *members)
{
	struct kw_member *m = visitor;

	list_for_each_entry_continue(m, members, list)
		if (!m->is_visitor) {
			list_move(&visitor->list, &m->list);
			return m;
		}
	list_del(&visitor->list);
	return NULL;
}

#endif /* KW_VISIT_H */
