// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#include "ktable.h"

#include <linux/hashtable.h>
#include <linux/mm.h>
#include <linux/pagemap.h>
#include <linux/random.h>
#include <linux/sched/signal.h>
#include <linux/siphash.h>
#include <linux/uaccess.h>

#include "kuser.h"

/* Between chances for others to run. */
#define VERIFY_ROWS  4096
#define COPY_AT_ONCE (64u << 10)

#define COPY_TRIES 16 /* of bytes that may be swapped out meanwhile */

static DEFINE_HASHTABLE(contents, 12);
static DEFINE_SPINLOCK(contents_lock); /* the hash's, and of all nr_uses */
static siphash_key_t seed;             /* so that nobody can make keys alike */

bool kw_table_is_only_used(const struct kw_table *table)
{
	bool ret;

	spin_lock(&contents_lock);
	ret = refcount_read(&table->ref) == table->nr_uses + 1;
	spin_unlock(&contents_lock);
	return ret;
}

void kw_table_drop(struct kw_table *table)
{
	spin_lock(&contents_lock);
	if (--table->nr_uses == 0)
		hash_del(&table->node);
	spin_unlock(&contents_lock);
	kw_table_put(table);
}

/* Check every row, now and then letting others run. */
static int verify_table(const struct ow_table *t)
{
	struct ow_table_check check = { .least = 0 };
	int more;

	if (ow_table_verify_rules(t))
		return -EINVAL;
	while ((more = ow_table_verify_rows(t, &check, VERIFY_ROWS)) > 0) {
		if (fatal_signal_pending(current))
			return -EINTR;
		cond_resched();
	}
	return more ? -EINVAL : 0;
}

static int verify_rare(const struct ow_rare *r)
{
	u32 at = 0;
	int more;

	while ((more = ow_rare_verify(r, &at, VERIFY_ROWS)) > 0) {
		if (fatal_signal_pending(current))
			return -EINTR;
		cond_resched();
	}
	return more ? -EINVAL : 0;
}

/* Where behind a table the rows lie that it leaves out. */
static u64 rare_at(const struct ow_kunwind_table *arg)
{
	return ALIGN((u64)arg->size, 8);
}

/* The bytes are there: take them as what they are to be. */
static int table_parse(struct kw_table *t, const struct ow_kunwind_table *arg)
{
	int err;

	if (ow_table_open(&t->table, t->bytes, arg->size))
		return -EINVAL;
	err = verify_table(&t->table);
	if (err || !arg->rare_size)
		return err;
	if (ow_rare_open(&t->rare, t->table.arch, t->table.base,
			 t->bytes + rare_at(arg), arg->rare_size))
		return -EINVAL;
	return verify_rare(&t->rare);
}

int kw_table_size(const struct ow_kunwind_table *arg, size_t *ret)
{
	if (arg->size == 0 || arg->size > OW_KUNWIND_MAX_TABLE ||
	    arg->rare_size > OW_RARE_MAX_SIZE)
		return -EINVAL;
	*ret = arg->rare_size ? rare_at(arg) + arg->rare_size : arg->size;
	return 0;
}

size_t kw_table_price(size_t size)
{
	return sizeof(struct kw_table) + size;
}

static void table_free(struct kw_table *t)
{
	kw_user_note(t->user, KW_TABLES, -1);
	kw_user_note(t->user, KW_TABLE_BYTES, -(s64)t->size);
	kw_user_uncharge(t->user, kw_table_price(t->size));
	kw_user_put(t->user);
	kvfree(t->bytes);
	kfree(t);
}

void kw_table_put(struct kw_table *table)
{
	if (table && refcount_dec_and_test(&table->ref))
		table_free(table);
}

bool kw_table_pass(struct kw_table *table, struct kw_user *to)
{
	struct kw_user *from = table->user;

	if (!kw_user_pass_aside(from, to, kw_table_price(table->size)))
		return false;
	kw_user_note(from, KW_TABLES, -1);
	kw_user_note(from, KW_TABLE_BYTES, -(s64)table->size);
	kw_user_note(to, KW_TABLES, 1);
	kw_user_note(to, KW_TABLE_BYTES, table->size);
	WRITE_ONCE(table->user, kw_user_share(to));
	kw_user_put(from);
	return true;
}

/* Memory for a table, which is paid first; an error pointer. */
static struct kw_table *table_alloc(struct kw_user *user, bool by_mappers,
				    size_t size)
{
	struct kw_table *t;
	int err = by_mappers ?
			  kw_user_charge_mapped(user, kw_table_price(size)) :
			  kw_user_charge(user, kw_table_price(size));

	if (err)
		return ERR_PTR(err);
	t = kzalloc(sizeof(*t), GFP_KERNEL_ACCOUNT);
	if (t)
		t->bytes = kvmalloc(size, GFP_KERNEL_ACCOUNT | __GFP_NOWARN |
						  __GFP_RETRY_MAYFAIL);
	if (!t || !t->bytes) {
		kw_user_uncharge(user, kw_table_price(size));
		kfree(t);
		return ERR_PTR(-ENOMEM);
	}
	INIT_LIST_HEAD(&t->uses);
	INIT_LIST_HEAD(&t->holds);
	INIT_LIST_HEAD(&t->idle);
	INIT_LIST_HEAD(&t->idle_of_all);
	t->user = kw_user_share(user);
	t->by_mappers = by_mappers;
	t->size = size;
	refcount_set(&t->ref, 1);
	kw_user_note(user, KW_TABLES, 1);
	kw_user_note(user, KW_TABLE_BYTES, size);
	return t;
}

/*
 * Have the caller's bytes in memory.  This may wait for as long as the caller
 * likes: who serves its pages (userfaultfd, FUSE) need not answer.
 */
static int fetch(const u8 __user *from, size_t size)
{
	size_t at, n;

	if (!access_ok(from, size))
		return -EFAULT;
	for (at = 0; at < size; at += n) {
		n = min_t(size_t, size - at, COPY_AT_ONCE);
		if (fault_in_readable(from + at, n))
			return -EFAULT;
		if (fatal_signal_pending(current))
			return -EINTR;
		cond_resched();
	}
	return 0;
}

/* Copy what is in memory, without waiting; false: some of it is not. */
static bool copy_resident(u8 *to, const u8 __user *from, size_t size)
{
	size_t at, n;

	for (at = 0; at < size; at += n) {
		n = min_t(size_t, size - at, COPY_AT_ONCE);
		if (copy_from_user_nofault(to + at, from + at, n))
			return false;
		if (fatal_signal_pending(current))
			return false;
		cond_resched();
	}
	return true;
}

/* A copy of the caller's bytes.  Nothing is held while they are waited for. */
static struct kw_table *table_copy(struct kw_user *user, bool by_mappers,
				   u64 addr, size_t size)
{
	const u8 __user *from = u64_to_user_ptr(addr);
	unsigned int tries;
	struct kw_table *t;
	int err;

	for (tries = 0; tries < COPY_TRIES; tries++) {
		err = fetch(from, size);
		if (err)
			return ERR_PTR(err);
		t = table_alloc(user, by_mappers, size);
		if (IS_ERR(t) || copy_resident(t->bytes, from, size))
			return t;
		kw_table_put(t);
	}
	return ERR_PTR(-EAGAIN);
}

struct kw_table *kw_table_read(struct kw_user *user, bool by_mappers,
			       const struct ow_kunwind_table *arg)
{
	struct kw_table *t;
	size_t size;
	int err = kw_table_size(arg, &size);

	if (err)
		return ERR_PTR(err);
	t = table_copy(user, by_mappers, arg->bytes, size);
	if (IS_ERR(t))
		return t;
	err = table_parse(t, arg);
	if (err) {
		kw_table_put(t);
		return ERR_PTR(err);
	}
	t->key = siphash(t->bytes, size, &seed);
	return t;
}

/* The user's table whose key is that of these bytes, or NULL; contents_lock. */
static struct kw_table *find_alike(const struct kw_table *fresh)
{
	struct kw_table *t;

	hash_for_each_possible(contents, t, node, fresh->key)
	{
		if (t->key == fresh->key && t->size == fresh->size &&
		    READ_ONCE(t->user) == fresh->user &&
		    t->by_mappers == fresh->by_mappers)
			return t;
	}
	return NULL;
}

/* Use a table that is alike, where any will do and there is one, or the fresh one. */
static struct kw_table *use_one(struct kw_table *fresh, bool any)
{
	struct kw_table *t;

	spin_lock(&contents_lock);
	t = any ? find_alike(fresh) : NULL;
	if (t) {
		refcount_inc(&t->ref);
	} else {
		t = fresh;
		hash_add(contents, &t->node, t->key);
	}
	t->nr_uses++;
	spin_unlock(&contents_lock);
	return t;
}

struct kw_table *kw_table_share(struct kw_table *fresh)
{
	struct kw_table *t = use_one(fresh, true);

	if (t == fresh)
		return t;
	if (memcmp(t->bytes, fresh->bytes, t->size) == 0) {
		kw_table_put(fresh);
		return t;
	}
	/* Other bytes have the same key. */
	kw_table_drop(t);
	return use_one(fresh, false);
}

int kw_table_init(void)
{
	get_random_bytes(&seed, sizeof(seed));
	return 0;
}
