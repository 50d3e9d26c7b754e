// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#include "ktable.h"

#include <linux/hashtable.h>
#include <linux/mm.h>
#include <linux/sched/signal.h>
#include <linux/uaccess.h>

#include "kstats.h"
#include "kuser.h"

#define VERIFY_ROWS 4096 /* between chances for others to run */

static DEFINE_HASHTABLE(contents, 10); /* under kw_mutex */

static void table_free(struct kw_table *t)
{
	kw_all_uncharge(t->size);
	atomic64_dec(&kw_gauges.tables);
	atomic64_sub(t->size, &kw_gauges.table_bytes);
	kvfree(t->bytes);
	kfree(t);
}

void kw_table_put(struct kw_table *table)
{
	if (table && refcount_dec_and_test(&table->ref))
		table_free(table);
}

struct kw_table *kw_table_take(struct kw_table *table)
{
	table->nr_uses++;
	refcount_inc(&table->ref);
	return table;
}

void kw_table_drop(struct kw_table *table)
{
	if (--table->nr_uses == 0)
		hash_del(&table->node);
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

int kw_table_read(const struct ow_kunwind_table *arg, struct kw_table **ret)
{
	size_t size = arg->rare_size ? rare_at(arg) + arg->rare_size :
				       arg->size;
	struct kw_table *t;
	int err;

	if (arg->size > OW_KUNWIND_MAX_TABLE ||
	    arg->rare_size > OW_RARE_MAX_SIZE)
		return -EINVAL;
	t = kzalloc(sizeof(*t), GFP_KERNEL);
	if (!t)
		return -ENOMEM;
	err = kw_all_charge(size);
	if (err)
		goto free;
	err = -ENOMEM;
	t->bytes = kvmalloc(size, GFP_KERNEL | __GFP_NOWARN);
	if (!t->bytes)
		goto uncharge;
	err = -EFAULT;
	if (copy_from_user(t->bytes, u64_to_user_ptr(arg->bytes), size))
		goto uncharge;
	err = table_parse(t, arg);
	if (err)
		goto uncharge;
	t->size = size;
	t->check = ow_table_checksum(t->bytes, size);
	refcount_set(&t->ref, 1);
	atomic64_inc(&kw_gauges.tables);
	atomic64_add(size, &kw_gauges.table_bytes);
	*ret = t;
	return 0;
uncharge:
	kvfree(t->bytes);
	kw_all_uncharge(size);
free:
	kfree(t);
	return err;
}

struct kw_table *kw_table_share(struct kw_table *fresh)
{
	struct kw_table *t;

	hash_for_each_possible(contents, t, node,
			       fresh->check) if (t->size == fresh->size &&
						 memcmp(t->bytes, fresh->bytes,
							t->size) == 0)
	{
		kw_table_put(fresh);
		return kw_table_take(t);
	}
	hash_add(contents, &fresh->node, fresh->check);
	fresh->nr_uses = 1;
	return fresh;
}
