// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#include "ktable.h"

#include <linux/file.h>
#include <linux/hashtable.h>
#include <linux/mm.h>
#include <linux/sched/signal.h>
#include <linux/uaccess.h>

#include "kstats.h"
#include "ktrack.h"
#include "kuser.h"

#define VERIFY_ROWS 4096 /* between chances for others to run */

static DEFINE_HASHTABLE(contents, 10); /* under kw_mutex */
static DEFINE_HASHTABLE(uses, 10);     /* under uses_lock */
static DEFINE_SPINLOCK(uses_lock);

static u64 object_key(const struct kw_object *o)
{
	return o->ino ^ (u64)o->dev << 32;
}

void kw_object_of(const struct inode *inode, struct kw_object *ret)
{
	struct timespec64 mtime = inode_get_mtime(inode);

	*ret = (struct kw_object){
		.dev = inode->i_sb->s_dev,
		.generation = inode->i_generation,
		.ino = inode->i_ino,
		.size = i_size_read(inode),
		.mtime_sec = mtime.tv_sec,
		.mtime_nsec = mtime.tv_nsec,
	};
}

bool kw_object_equal(const struct kw_object *a, const struct kw_object *b)
{
	return a->dev == b->dev && a->ino == b->ino &&
	       a->generation == b->generation && a->size == b->size &&
	       a->mtime_sec == b->mtime_sec && a->mtime_nsec == b->mtime_nsec;
}

/* The bias of what is mapped, by the segment whose bytes it has. */
static bool find_bias(const struct kw_use *use, const struct kw_mapped *m,
		      u64 *ret)
{
	const struct ow_kunwind_segment *s = use->segments;
	unsigned int i;

	for (i = 0; i < use->nr; i++, s++)
		if (m->off < s->off + s->size && m->off + m->size > s->off) {
			*ret = m->start - m->off + s->off - s->vaddr;
			return true;
		}
	return false;
}

bool kw_table_find(const struct kw_mapped *m, const struct ow_arch *arch,
		   const struct list_head *tracks, struct kw_found *ret)
{
	struct kw_use *use;
	bool found = false;

	spin_lock(&uses_lock);
	hash_for_each_possible(uses, use, node, object_key(&m->object))
	{
		if (!kw_object_equal(&use->object, &m->object) ||
		    use->table->table.arch != arch ||
		    !kw_tracks_count(tracks, use->session) ||
		    !find_bias(use, m, &ret->bias))
			continue;
		/* Those that count for all processes come first. */
		if (found)
			kw_table_put(ret->table);
		refcount_inc(&use->table->ref);
		ret->table = use->table;
		ret->entry = use->entry;
		found = true;
		if (use->session->privileged)
			break;
	}
	spin_unlock(&uses_lock);
	return found;
}

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

/* A use's reference; the caller holds kw_mutex, here and below. */
static struct kw_table *table_take(struct kw_table *table)
{
	table->nr_uses++;
	refcount_inc(&table->ref);
	return table;
}

static void table_drop(struct kw_table *table)
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

/* A private copy of the caller's bytes, all of which is sound. */
static int table_read(const struct ow_kunwind_table *arg, struct kw_table **ret)
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

/*
 * The one of equal bytes that is held already, in place of fresh; the caller
 * holds kw_mutex.
 */
static struct kw_table *table_share(struct kw_table *fresh)
{
	struct kw_table *t;

	hash_for_each_possible(contents, t, node,
			       fresh->check) if (t->size == fresh->size &&
						 memcmp(t->bytes, fresh->bytes,
							t->size) == 0)
	{
		kw_table_put(fresh);
		return table_take(t);
	}
	hash_add(contents, &fresh->node, fresh->check);
	fresh->nr_uses = 1;
	return fresh;
}

static bool is_like(const struct kw_use *use, const struct kw_use *like)
{
	return like->build_id_size &&
	       (use->session->privileged || use->session == like->session) &&
	       use->build_id_size == like->build_id_size &&
	       !memcmp(use->build_id, like->build_id, like->build_id_size);
}

/* The table of an object with that build-id which counts for the session. */
static struct kw_table *table_known(const struct kw_use *like)
{
	struct kw_table *found = NULL;
	struct kw_use *use;
	unsigned int bkt;

	spin_lock(&uses_lock);
	hash_for_each(uses, bkt, use, node) if (is_like(use, like))
	{
		found = table_take(use->table);
		break;
	}
	spin_unlock(&uses_lock);
	return found;
}

/* The object that fd is open on, if its opener may read it. */
static int object_of_fd(int fd, struct kw_object *ret)
{
	struct file *file = fget(fd);
	struct inode *inode;
	int err = -EBADF;

	if (!file)
		return err;
	/* What is mapped of an overlay's file is the file below. */
	inode = d_real_inode(file->f_path.dentry);
	if (file->f_mode & FMODE_READ && S_ISREG(inode->i_mode)) {
		kw_object_of(inode, ret);
		err = 0;
	}
	fput(file);
	return err;
}

static int read_segments(struct kw_use *use, u64 from)
{
	const struct ow_kunwind_segment *s = use->segments;
	unsigned int i;

	if (copy_from_user(use->segments, u64_to_user_ptr(from),
			   use->nr * sizeof(*s)))
		return -EFAULT;
	for (i = 0; i < use->nr; i++)
		if (s[i].off + s[i].size < s[i].off)
			return -EINVAL;
	return 0;
}

/* A use as the caller describes it, yet without a table. */
static struct kw_use *use_read(struct kw_session *session,
			       const struct ow_kunwind_table *arg)
{
	struct kw_use *use;
	int err = -EINVAL;

	if (arg->nr_segments == 0 || arg->nr_segments > OW_KUNWIND_MAX_SEGS ||
	    arg->build_id_size > OW_KUNWIND_BUILD_ID ||
	    (arg->rare_size && !arg->size) || arg->kind > OW_KUNWIND_VDSO)
		return ERR_PTR(-EINVAL);
	use = kzalloc(struct_size(use, segments, arg->nr_segments), GFP_KERNEL);
	if (!use)
		return ERR_PTR(-ENOMEM);
	use->session = session;
	use->entry = arg->entry;
	use->nr = arg->nr_segments;
	use->build_id_size = arg->build_id_size;
	memcpy(use->build_id, arg->build_id, arg->build_id_size);
	if (arg->kind == OW_KUNWIND_FILE)
		err = object_of_fd(arg->fd, &use->object);
	else if (arg->fd == -1)
		err = 0;
	if (!err)
		err = read_segments(use, arg->segments);
	if (err) {
		kfree(use);
		return ERR_PTR(err);
	}
	return use;
}

/* What a user pays for a use. */
static size_t price(const struct kw_use *use)
{
	return use->table->size + struct_size(use, segments, use->nr);
}

/* It was taken out of the hash; the caller holds kw_mutex. */
static void use_free(struct kw_use *use)
{
	list_del(&use->list);
	kw_user_uncharge(use->session->user, price(use));
	table_drop(use->table);
	kfree(use);
}

static void unhash(struct kw_use *use)
{
	spin_lock(&uses_lock);
	hash_del(&use->node);
	spin_unlock(&uses_lock);
}

/* The session's older use of the same object and place, or NULL. */
static struct kw_use *find_older(const struct kw_use *use)
{
	struct kw_use *u;

	list_for_each_entry(u, &use->session->uses, list)
		if (u != use && kw_object_equal(&u->object, &use->object) &&
		    u->table->table.arch == use->table->table.arch)
			return u;
	return NULL;
}

/* Make it count; the caller holds kw_mutex. */
static void use_publish(struct kw_use *use)
{
	struct kw_use *older = find_older(use);

	list_add(&use->list, &use->session->uses);
	spin_lock(&uses_lock);
	if (older)
		hash_del(&older->node);
	hash_add(uses, &use->node, object_key(&use->object));
	spin_unlock(&uses_lock);
	if (older)
		use_free(older);
}

int kw_table_add(struct kw_session *session, const struct ow_kunwind_table *arg,
		 struct kw_object *ret)
{
	struct kw_use *use = use_read(session, arg);
	struct kw_table *fresh = NULL;
	int err = 0;

	if (IS_ERR(use))
		return PTR_ERR(use);
	if (arg->size)
		err = table_read(arg, &fresh);
	if (err)
		goto free;
	mutex_lock(&kw_mutex);
	use->table = fresh ? table_share(fresh) : table_known(use);
	err = use->table ? kw_user_charge(session->user, price(use)) : -ENOENT;
	*ret = use->object;
	if (!err)
		use_publish(use);
	else if (use->table)
		table_drop(use->table);
	mutex_unlock(&kw_mutex);
	if (!err)
		return 0;
free:
	kfree(use);
	return err;
}

void kw_table_drop_all(struct kw_session *session)
{
	struct kw_use *use, *next;

	list_for_each_entry_safe(use, next, &session->uses, list) {
		unhash(use);
		use_free(use);
	}
}
