// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#include "kuse.h"

#include <linux/backing-dev-defs.h>
#include <linux/exportfs.h>
#include <linux/file.h>
#include <linux/hashtable.h>
#include <linux/magic.h>
#include <linux/random.h>
#include <linux/rculist.h>
#include <linux/sched/signal.h>
#include <linux/siphash.h>
#include <linux/uaccess.h>
#include <linux/user_namespace.h>

#include "khold.h"
#include "ktrack.h"
#include "kuser.h"

#define MAX_DROPS 65536 /* uses that go to make room for one table */
#define MAX_TIMES 8     /* a session's uses of an inode, of different times */
#define MAX_HANDLE \
	48 /* words: NFS has the longest ones, of up to 128 bytes and a few */

static DEFINE_HASHTABLE(uses, 14); /* under uses_lock */
static DEFINE_SPINLOCK(uses_lock); /* each session's, too */
static siphash_key_t seed;         /* so that nobody can make keys alike */

/*
 * Whose spaces a session's tables count in: its own, or NULL for those of all.
 * Uses of different reach have different keys, so that nobody waits for those of
 * strangers to be looked through.
 */
static const struct kw_session *reach(const struct kw_session *session)
{
	return session->privileged ? NULL : session;
}

static u64 key_of(const struct kw_object *o, const struct kw_session *whose)
{
	return siphash_4u64(o->ino, (u64)o->dev << 32 | o->generation,
			    o->origin, (uintptr_t)whose, &seed);
}

int kw_use_init(void)
{
	get_random_bytes(&seed, sizeof(seed));
	return 0;
}

/*
 * Return true if other files may have the number and the generation of this one: btrfs
 * counts the inodes of each subvolume anew, and its generation is that of a moment;
 * servers of files tell none.
 */
static bool is_ambiguous(const struct inode *inode)
{
	const struct super_block *sb = inode->i_sb;

	return sb->s_magic == BTRFS_SUPER_MAGIC ||
	       (!sb->s_bdev && !inode->i_generation);
}

/*
 * The handle that a file system knows the file by, which is no other's later.  It is in
 * the inode: nothing is read, and no lock is taken that may be held for long.  Return its
 * bytes, or 0 where there is none.
 */
static size_t read_handle(struct inode *inode, u32 *ret)
{
	const struct export_operations *ops = inode->i_sb->s_export_op;
	int words = MAX_HANDLE, type;

	if (!ops || !ops->encode_fh)
		return 0;
	type = ops->encode_fh(inode, ret, &words, NULL);
	if (type < 0 || type == FILEID_INVALID || words > MAX_HANDLE)
		return 0;
	return words * sizeof(*ret);
}

/* A number that a file has by itself; by its last change, which nobody can choose. */
static u64 origin_of_file(struct inode *inode)
{
	struct timespec64 ctime = kw_inode_ctime(inode);
	u32 handle[MAX_HANDLE] = { 0 };
	size_t size = read_handle(inode, handle);

	if (size)
		return siphash_2u64(inode->i_sb->s_bdi->id,
				    siphash(handle, size, &seed), &seed);
	return siphash_3u64(inode->i_sb->s_bdi->id, ctime.tv_sec, ctime.tv_nsec,
			    &seed);
}

/*
 * A file system without a block device may have the device number of one that was
 * unmounted; its server, as FUSE's, chooses all else that a file is known by.
 */
void kw_object_of(struct inode *inode, struct kw_object *ret)
{
	struct timespec64 mtime = inode_get_mtime(inode);

	*ret = (struct kw_object){
		.dev = inode->i_sb->s_dev,
		.generation = inode->i_generation,
		.origin = is_ambiguous(inode) ? origin_of_file(inode) :
						inode->i_sb->s_bdi->id,
		.ino = inode->i_ino,
		.size = i_size_read(inode),
		.mtime_sec = mtime.tv_sec,
		.mtime_nsec = mtime.tv_nsec,
	};
}

static bool is_same_inode(const struct kw_object *a, const struct kw_object *b)
{
	return a->dev == b->dev && a->origin == b->origin && a->ino == b->ino &&
	       a->generation == b->generation;
}

bool kw_object_equal(const struct kw_object *a, const struct kw_object *b)
{
	return is_same_inode(a, b) && a->size == b->size &&
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

/* The table of that reach, the latest if there are several; under uses_lock. */
static bool find_of(const struct kw_session *whose, const struct kw_mapped *m,
		    const struct ow_arch *arch, struct kw_found *ret)
{
	struct kw_use *use;

	hash_for_each_possible(uses, use, node, key_of(&m->object, whose))
	{
		if (reach(use->session) != whose ||
		    !kw_object_equal(&use->object, &m->object) ||
		    use->table->table.arch != arch ||
		    !find_bias(use, m, &ret->bias))
			continue;
		refcount_inc(&use->table->ref);
		ret->table = use->table;
		ret->entry = use->entry;
		return true;
	}
	return false;
}

bool kw_use_find(const struct kw_mapped *m, const struct ow_arch *arch,
		 const struct list_head *tracks, struct kw_found *ret)
{
	const struct kw_track *t;
	bool found;

	spin_lock(&uses_lock);
	rcu_read_lock();
	found = find_of(NULL, m, arch, ret);
	list_for_each_entry_rcu(t, tracks, of_space) {
		if (found)
			break;
		if (!t->session->privileged)
			found = find_of(t->session, m, arch, ret);
	}
	rcu_read_unlock();
	spin_unlock(&uses_lock);
	return found;
}

/* The object that fd is open on, if its opener may read it, and who pays. */
static int object_of_fd(int fd, struct kw_use *ret)
{
	struct file *file = fget(fd);
	struct inode *inode;
	int err = -EBADF;

	if (!file)
		return err;
	/* What is mapped of an overlay's file is the file below. */
	inode = d_real_inode(file->f_path.dentry);
	if (file->f_mode & FMODE_READ && S_ISREG(inode->i_mode)) {
		kw_object_of(inode, &ret->object);
		err = 0;
		if (ret->session->privileged && !ret->by_mappers) {
			ret->user = kw_user_of_inode(inode);
			err = ret->user ? 0 : -ENOMEM;
		}
	}
	fput(file);
	return err;
}

/* Who pays: the user for whose process a privileged session brings a table. */
static int take_payer(struct kw_use *use, const struct ow_kunwind_table *arg)
{
	kuid_t uid = make_kuid(use->session->cred->user_ns, arg->uid);

	if (!use->session->privileged || !(arg->flags & OW_KUNWIND_FOR_USER))
		return 0;
	if (!uid_valid(uid))
		return -EINVAL;
	use->user = kw_user_of_uid(uid, arg->flags & OW_KUNWIND_FOR_PRIVILEGED);
	use->by_mappers = true;
	return use->user ? 0 : -ENOMEM;
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

static size_t price(unsigned int nr_segments)
{
	return struct_size((struct kw_use *)NULL, segments, nr_segments);
}

/* A use as the caller describes it, not yet paid, and without a table. */
static struct kw_use *use_read(struct kw_session *session,
			       const struct ow_kunwind_table *arg)
{
	struct kw_use *use;
	int err;

	use = kzalloc(price(arg->nr_segments), GFP_KERNEL_ACCOUNT);
	if (!use)
		return ERR_PTR(-ENOMEM);
	use->session = session;
	use->entry = arg->entry;
	use->nr = arg->nr_segments;
	err = take_payer(use, arg);
	if (!err && arg->kind == OW_KUNWIND_FILE)
		err = object_of_fd(arg->fd, use);
	else if (!err && arg->fd != -1)
		err = -EINVAL;
	if (!err && !use->user)
		use->user = kw_user_share(session->user);
	if (!err)
		err = read_segments(use, arg->segments);
	if (err) {
		kw_user_put(use->user);
		kfree(use);
		return ERR_PTR(err);
	}
	return use;
}

/* It was taken out. */
static void use_free(struct kw_use *use)
{
	kw_user_uncharge(use->user, price(use->nr));
	kw_table_drop(use->table);
	kw_user_put(use->user);
	kfree(use);
}

/* Take it where nobody finds it any more; the caller holds uses_lock. */
static void take_out(struct kw_use *use)
{
	list_del(&use->list);
	list_del(&use->of_table);
	if (list_empty(&use->table->uses))
		kw_hold_end(use->table);
	hash_del(&use->node);
}

/* Put it where it is found; the caller holds uses_lock. */
static void put_in(struct kw_use *use, u64 key)
{
	list_add(&use->list, &use->session->uses);
	if (list_empty(&use->table->uses))
		kw_hold_begin(use->table);
	list_add(&use->of_table, &use->table->uses);
	hash_add(uses, &use->node, key);
}

/*
 * The session's use that makes way for this one, or NULL; uses_lock.  It is of the same
 * object and architecture; or else the oldest of the inode, if there are many: whoever
 * sets a file's time or size again and again makes another object of it each time.
 */
static struct kw_use *find_older(const struct kw_use *use, u64 key)
{
	struct kw_use *u, *oldest = NULL;
	unsigned int nr = 0;

	/* The newest comes first. */
	hash_for_each_possible(uses, u, node, key)
	{
		if (u->session != use->session ||
		    !is_same_inode(&u->object, &use->object))
			continue;
		if (kw_object_equal(&u->object, &use->object) &&
		    u->table->table.arch == use->table->table.arch)
			return u;
		oldest = u;
		nr++;
	}
	return nr < MAX_TIMES ? NULL : oldest;
}

/* Make it count. */
static void use_publish(struct kw_use *use)
{
	u64 key = key_of(&use->object, reach(use->session));
	struct kw_use *older;

	spin_lock(&uses_lock);
	older = find_older(use, key);
	if (older)
		take_out(older);
	put_in(use, key);
	spin_unlock(&uses_lock);
	if (older)
		use_free(older);
}

/* What can be told before anything is taken, looked at or waited for. */
static int check_args(const struct ow_kunwind_table *arg)
{
	size_t size;
	int err = kw_table_size(arg, &size);

	if (err || arg->nr_segments == 0 ||
	    arg->nr_segments > OW_KUNWIND_MAX_SEGS ||
	    arg->kind > OW_KUNWIND_VDSO || arg->reserved ||
	    arg->flags & ~(OW_KUNWIND_FOR_USER | OW_KUNWIND_FOR_PRIVILEGED))
		return -EINVAL;
	return size > kw_user_limit() ? -ENOSPC : 0;
}

/* --- room for more --- */

/* One use less of a table that nobody maps, which goes with its last one. */
static void drop_use_of(struct kw_table *t)
{
	struct kw_use *use;

	spin_lock(&uses_lock);
	use = list_first_entry_or_null(&t->uses, struct kw_use, of_table);
	/* As maps take it by its uses, nobody maps it meanwhile. */
	if (use && !kw_table_is_only_used(t))
		use = NULL;
	if (use)
		take_out(use);
	spin_unlock(&uses_lock);
	if (use)
		use_free(use);
}

/* Have tables go that nobody maps, until there is room for the user's; false: there
 * isn't. */
static bool make_room(struct kw_user *user, size_t bytes)
{
	unsigned int tries = MAX_DROPS;
	struct kw_table *t;
	enum kw_room room;

	while ((room = kw_user_room_mapped(user, bytes)) != KW_ROOM) {
		t = kw_hold_idle(user, room == KW_ALL_FULL);
		if (!t)
			return false;
		drop_use_of(t);
		kw_table_put(t);
		if (!--tries || fatal_signal_pending(current))
			return false;
		cond_resched();
	}
	return true;
}

/* The table's bytes, for which others may have to go. */
static struct kw_table *read_table(const struct kw_use *use,
				   const struct ow_kunwind_table *arg)
{
	struct kw_table *t = kw_table_read(use->user, use->by_mappers, arg);
	size_t size;

	if (t != ERR_PTR(-ENOSPC) || !use->by_mappers ||
	    kw_table_size(arg, &size))
		return t;
	if (make_room(use->user, kw_table_price(size) + price(use->nr)))
		t = kw_table_read(use->user, use->by_mappers, arg);
	return t;
}

int kw_use_add(struct kw_session *session, const struct ow_kunwind_table *arg,
	       struct kw_object *ret)
{
	struct kw_table *fresh;
	struct kw_use *use;
	int err = check_args(arg);

	if (err)
		return err;
	use = use_read(session, arg);
	if (IS_ERR(use))
		return PTR_ERR(use);
	fresh = read_table(use, arg);
	err = PTR_ERR_OR_ZERO(fresh);
	if (err)
		goto free;
	err = kw_user_charge(use->user, price(use->nr));
	if (err)
		goto put;
	*ret = use->object;
	use->table = kw_table_share(fresh);
	use_publish(use);
	return 0;
put:
	kw_table_put(fresh);
free:
	kw_user_put(use->user);
	kfree(use);
	return err;
}

/* One of a session's, taken out; NULL: it has none. */
static struct kw_use *take_first(struct kw_session *session)
{
	struct kw_use *use;

	spin_lock(&uses_lock);
	use = list_first_entry_or_null(&session->uses, struct kw_use, list);
	if (use)
		take_out(use);
	spin_unlock(&uses_lock);
	return use;
}

bool kw_use_drop_all(struct kw_session *session)
{
	struct kw_use *use;
	bool any = false;

	while ((use = take_first(session))) {
		use_free(use);
		any = true;
		cond_resched();
	}
	return any;
}
