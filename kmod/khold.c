// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#include "khold.h"

#include <linux/hashtable.h>
#include <linux/slab.h>

#include "kuser.h"

#define PAYER_TRIES 8 /* users who are asked to pay instead */

static DEFINE_HASHTABLE(holds, 12);
static DEFINE_SPINLOCK(holds_lock);
/* Tables that nobody maps, by whether the payer is privileged; the oldest first. */
static struct list_head all_idle[] = {
	LIST_HEAD_INIT(all_idle[0]),
	LIST_HEAD_INIT(all_idle[1]),
};

static unsigned long key_of(const struct kw_table *table,
			    const struct kw_user *user)
{
	return (unsigned long)table ^ ((unsigned long)user << 1);
}

/* The caller holds the lock, here and below. */
static struct kw_hold *find(const struct kw_table *table,
			    const struct kw_user *user)
{
	struct kw_hold *h;

	hash_for_each_possible(holds, h, node, key_of(table, user))
	{
		if (h->table == table && h->user == user)
			return h;
	}
	return NULL;
}

static void idle_begin(struct kw_table *t)
{
	if (!t->may_go)
		return;
	kw_user_note_idle(t->user, kw_table_price(t->size));
	list_add_tail(&t->idle, kw_user_idle(t->user));
	list_add_tail(&t->idle_of_all,
		      &all_idle[kw_user_is_privileged(t->user)]);
}

static void idle_end(struct kw_table *t)
{
	if (list_empty(&t->idle))
		return;
	kw_user_note_idle(t->user, -(s64)kw_table_price(t->size));
	list_del_init(&t->idle);
	list_del_init(&t->idle_of_all);
}

/*
 * The first of those who map it pays from now on, if who pays doesn't map it: each has
 * set that aside.
 */
static void choose_payer(struct kw_table *t)
{
	unsigned int tries = PAYER_TRIES;
	struct kw_hold *h;

	if (!t->by_mappers || find(t, t->user))
		return;
	list_for_each_entry(h, &t->holds, list) {
		if (!tries--)
			return;
		if (kw_table_pass(t, h->user)) {
			h->aside = 0;
			return;
		}
	}
}

/*
 * A user who maps a table that another one pays has to have room for it, too: the other
 * would else pay on, after its own processes have ended, for one whose share is full.
 */
static bool set_aside(struct kw_hold *h)
{
	const struct kw_table *t = h->table;
	size_t bytes = kw_table_price(t->size);

	if (!t->by_mappers)
		return true;
	if (t->user == h->user)
		return list_empty(&t->idle) ||
		       kw_user_may_use_idle(h->user, bytes);
	if (!kw_user_set_aside(h->user, bytes))
		return false;
	h->aside = bytes;
	return true;
}

/* Return false if the user has no room. */
static bool enter(struct kw_hold *h)
{
	struct kw_table *t = h->table;

	if (!set_aside(h))
		return false;
	if (list_empty(&t->holds))
		idle_end(t);
	hash_add(holds, &h->node, key_of(t, h->user));
	list_add_tail(&h->list, &t->holds);
	choose_payer(t);
	return true;
}

static void leave(struct kw_hold *h)
{
	struct kw_table *t = h->table;

	hash_del(&h->node);
	list_del(&h->list);
	if (list_empty(&t->holds))
		idle_begin(t);
	else
		choose_payer(t);
}

/* It is small, and paid by the user's share: no memory cgroup is asked for it. */
static struct kw_hold *hold_alloc(struct kw_table *table, struct kw_user *user)
{
	struct kw_hold *h;

	if (kw_user_charge(user, sizeof(*h)))
		return NULL;
	h = kzalloc(sizeof(*h), GFP_ATOMIC | __GFP_NOWARN);
	if (!h) {
		kw_user_uncharge(user, sizeof(*h));
		return NULL;
	}
	h->table = table;
	h->user = kw_user_share(user);
	return h;
}

static void hold_free(struct kw_hold *h)
{
	if (!h)
		return;
	kw_table_put(h->table);
	kw_user_give_back(h->user, h->aside);
	kw_user_uncharge(h->user, sizeof(*h));
	kw_user_put(h->user);
	kfree(h);
}

/* One mapping more of a hold that there is, or NULL. */
static struct kw_hold *again(struct kw_table *table, struct kw_user *user)
{
	struct kw_hold *h;

	spin_lock(&holds_lock);
	h = find(table, user);
	if (h)
		h->nr++;
	spin_unlock(&holds_lock);
	if (h)
		kw_table_put(table);
	return h;
}

struct kw_hold *kw_hold_add(struct kw_table *table, struct kw_user *user)
{
	struct kw_hold *h = again(table, user), *fresh;

	if (h)
		return h;
	fresh = hold_alloc(table, user);
	if (!fresh) {
		kw_table_put(table);
		return NULL;
	}
	spin_lock(&holds_lock);
	h = find(table, user);
	if (!h && enter(fresh)) {
		h = fresh;
		fresh = NULL;
	}
	if (h)
		h->nr++;
	spin_unlock(&holds_lock);
	hold_free(fresh);
	return h;
}

struct kw_hold *kw_hold_share(struct kw_hold *hold)
{
	spin_lock(&holds_lock);
	hold->nr++;
	spin_unlock(&holds_lock);
	return hold;
}

void kw_hold_put(struct kw_hold *hold)
{
	bool last;

	if (!hold)
		return;
	spin_lock(&holds_lock);
	last = --hold->nr == 0;
	if (last)
		leave(hold);
	spin_unlock(&holds_lock);
	if (last)
		hold_free(hold);
}

void kw_hold_begin(struct kw_table *table)
{
	spin_lock(&holds_lock);
	table->may_go = table->by_mappers;
	/* Another use of it that there was may have been mapped. */
	if (list_empty(&table->holds))
		idle_begin(table);
	spin_unlock(&holds_lock);
}

void kw_hold_end(struct kw_table *table)
{
	spin_lock(&holds_lock);
	table->may_go = false;
	idle_end(table);
	spin_unlock(&holds_lock);
}

/* The oldest that there is still, which is the newest from now on; or NULL. */
static struct kw_table *oldest_of(struct kw_user *user)
{
	struct kw_table *t;

	list_for_each_entry(t, kw_user_idle(user), idle)
		if (refcount_inc_not_zero(&t->ref)) {
			list_move_tail(&t->idle, kw_user_idle(user));
			return t;
		}
	return NULL;
}

static struct kw_table *oldest_of_all(bool privileged)
{
	struct kw_table *t;

	list_for_each_entry(t, &all_idle[privileged], idle_of_all)
		if (refcount_inc_not_zero(&t->ref)) {
			list_move_tail(&t->idle_of_all, &all_idle[privileged]);
			return t;
		}
	return NULL;
}

struct kw_table *kw_hold_idle(struct kw_user *user, bool any)
{
	struct kw_table *t;

	spin_lock(&holds_lock);
	t = oldest_of(user);
	if (!t && any)
		t = oldest_of_all(false);
	if (!t && any && kw_user_is_privileged(user))
		t = oldest_of_all(true);
	spin_unlock(&holds_lock);
	return t;
}
