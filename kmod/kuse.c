// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#include "kuse.h"

#include <linux/file.h>
#include <linux/hashtable.h>
#include <linux/uaccess.h>

#include "ktrack.h"
#include "kuser.h"

static DEFINE_HASHTABLE(uses, 10); /* under uses_lock */
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

bool kw_use_find(const struct kw_mapped *m, const struct ow_arch *arch,
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
		found = kw_table_take(use->table);
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
	kw_table_drop(use->table);
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

int kw_use_add(struct kw_session *session, const struct ow_kunwind_table *arg,
	       struct kw_object *ret)
{
	struct kw_use *use = use_read(session, arg);
	struct kw_table *fresh = NULL;
	int err = 0;

	if (IS_ERR(use))
		return PTR_ERR(use);
	if (arg->size)
		err = kw_table_read(arg, &fresh);
	if (err)
		goto free;
	mutex_lock(&kw_mutex);
	use->table = fresh ? kw_table_share(fresh) : table_known(use);
	err = use->table ? kw_user_charge(session->user, price(use)) : -ENOENT;
	*ret = use->object;
	if (!err)
		use_publish(use);
	else if (use->table)
		kw_table_drop(use->table);
	mutex_unlock(&kw_mutex);
	if (!err)
		return 0;
free:
	kfree(use);
	return err;
}

void kw_use_drop_all(struct kw_session *session)
{
	struct kw_use *use, *next;

	list_for_each_entry_safe(use, next, &session->uses, list) {
		unhash(use);
		use_free(use);
	}
}
