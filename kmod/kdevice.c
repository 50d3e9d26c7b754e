// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#include "kdevice.h"

#include <linux/fs.h>
#include <linux/miscdevice.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/poll.h>
#include <linux/sched/task_stack.h>
#include <linux/uaccess.h>

#include "kclient.h"
#include "kcontext.h"
#include "kfollow.h"
#include "kheirs.h"
#include "khook.h"
#include "kstats.h"
#include "ksubuids.h"
#include "kunwind.h"
#include "kuser.h"

static int open(struct inode *inode, struct file *file)
{
	struct kw_session *s = kw_session_create();

	if (IS_ERR(s))
		return PTR_ERR(s);
	file->private_data = s;
	return stream_open(inode, file);
}

static int release(struct inode *inode, struct file *file)
{
	kw_client_close(file->private_data);
	return 0;
}

static long do_info(struct kw_session *s, void __user *arg)
{
	struct ow_kunwind_info info = {
		.abi = OW_KUNWIND_ABI,
		.table_version = OW_TABLE_VERSION,
		.features = kw_heirs_features() | kw_hook_features(),
		.max_frames = OW_KUNWIND_MAX_FRAMES,
		.max_bytes_user = kw_user_limit(),
		.max_bytes_all = kw_all_limit(),
		.max_followed = kw_follow_max(s),
		.privileged = s->privileged,
	};

	return copy_to_user(arg, &info, sizeof(info)) ? -EFAULT : 0;
}

static int unwind(struct ow_kunwind_unwind *u, struct ow_frame *frames)
{
	struct pt_regs *regs = task_pt_regs(current);
	enum ow_end end;
	int nr;

	kw_heirs_catch_up();
	nr = kunwind_user_stack(regs, frames, u->max, &end);
	if (nr > 0 && end == OW_END_FAULT && u->flags & OW_KUNWIND_FAULT_IN)
		nr = kunwind_user_stack_faulting(regs, frames, u->max, &end);
	if (nr < 0)
		return nr;
	u->nr = nr;
	u->end = end;
	return 0;
}

static long do_unwind(struct kw_session *s, void __user *arg)
{
	struct ow_kunwind_unwind u;
	struct ow_frame *frames;
	long err;

	if (copy_from_user(&u, arg, sizeof(u)))
		return -EFAULT;
	if (u.max == 0 || u.flags & ~OW_KUNWIND_FAULT_IN)
		return -EINVAL;
	u.max = min_t(u32, u.max, OW_KUNWIND_MAX_FRAMES);
	frames = kvmalloc_array(u.max, sizeof(*frames), GFP_KERNEL_ACCOUNT);
	if (!frames)
		return -ENOMEM;
	err = unwind(&u, frames);
	if (!err && (copy_to_user(u64_to_user_ptr(u.frames), frames,
				  u.nr * sizeof(*frames)) ||
		     copy_to_user(arg, &u, sizeof(u))))
		err = -EFAULT;
	kvfree(frames);
	return err;
}

static long do_table(struct kw_session *s, void __user *arg)
{
	struct ow_kunwind_table t;

	if (copy_from_user(&t, arg, sizeof(t)))
		return -EFAULT;
	return kw_client_table(s, &t);
}

static long do_follow(struct kw_session *s, void __user *arg)
{
	struct ow_kunwind_follow f;

	if (copy_from_user(&f, arg, sizeof(f)))
		return -EFAULT;
	return kw_client_follow(s, &f);
}

static long do_unfollow(struct kw_session *s, void __user *arg)
{
	struct ow_kunwind_follow f;

	if (copy_from_user(&f, arg, sizeof(f)))
		return -EFAULT;
	return kw_client_unfollow(s, &f);
}

static long do_stats(struct kw_session *s, void __user *arg)
{
	struct ow_kunwind_stats stats;

	kw_stats_read(s->user, s->privileged, &stats);
	if (s->privileged)
		stats.context_bytes = kw_contexts_bytes();
	return copy_to_user(arg, &stats, sizeof(stats)) ? -EFAULT : 0;
}

static long do_subuids(struct kw_session *s, void __user *arg)
{
	struct ow_kunwind_subuids list;

	if (copy_from_user(&list, arg, sizeof(list)))
		return -EFAULT;
	return kw_subuids_take(&list);
}

static const struct {
	unsigned int cmd;
	long (*run)(struct kw_session *s, void __user *arg);
} calls[] = {
	{ OW_KUNWIND_INFO, do_info },         { OW_KUNWIND_UNWIND, do_unwind },
	{ OW_KUNWIND_TABLE, do_table },       { OW_KUNWIND_FOLLOW, do_follow },
	{ OW_KUNWIND_UNFOLLOW, do_unfollow }, { OW_KUNWIND_STATS, do_stats },
	{ OW_KUNWIND_SUBUIDS, do_subuids },
};

static long ioctl(struct file *file, unsigned int cmd, unsigned long arg)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(calls); i++)
		if (calls[i].cmd == cmd)
			return calls[i].run(file->private_data,
					    (void __user *)arg);
	return -ENOTTY;
}

/* Wait for an event and take it; 0: there is none, and nobody wants to wait. */
static int next_event(struct file *file, bool wait,
		      struct ow_kunwind_event *ret)
{
	struct kw_session *s = file->private_data;
	int err;

	while (!kw_events_take(&s->events, s->ns, s->cred->user_ns, ret)) {
		if (!wait)
			return 0;
		if (file->f_flags & O_NONBLOCK)
			return -EAGAIN;
		err = wait_event_interruptible(s->events.wait,
					       kw_events_any(&s->events));
		if (err)
			return err;
	}
	return 1;
}

static ssize_t read(struct file *file, char __user *buf, size_t size,
		    loff_t *pos)
{
	struct ow_kunwind_event what;
	size_t done = 0;
	int got;

	if (size < sizeof(what))
		return -EINVAL;
	while (size - done >= sizeof(what)) {
		got = next_event(file, done == 0, &what);
		if (got <= 0)
			return done ? done : got;
		if (copy_to_user(buf + done, &what, sizeof(what)))
			return done ? done : -EFAULT;
		done += sizeof(what);
		if (fatal_signal_pending(current))
			break;
	}
	return done;
}

/* Have the one that polls be woken by events, unless as many are as may be. */
static void wait_for_events(struct file *file, struct kw_events *e,
			    struct poll_table_struct *table)
{
	if (poll_does_not_wait(table) || mutex_lock_killable(&e->polling))
		return;
	if (kw_events_may_wait(e))
		poll_wait(file, &e->wait, table);
	mutex_unlock(&e->polling);
	smp_mb(); /* between being seen to wait and looking for events */
}

static __poll_t poll(struct file *file, struct poll_table_struct *table)
{
	struct kw_session *s = file->private_data;
	__poll_t ret = 0;

	wait_for_events(file, &s->events, table);
	if (kw_events_any(&s->events))
		ret |= EPOLLIN | EPOLLRDNORM;
	/* An epoll that doesn't wait asks once more, and is to be told then, too. */
	if (READ_ONCE(s->events.crowded))
		ret |= EPOLLERR;
	return ret;
}

static const struct file_operations fops = {
	.owner = THIS_MODULE,
	.open = open,
	.release = release,
	.read = read,
	.poll = poll,
	.unlocked_ioctl = ioctl,
	.compat_ioctl = compat_ptr_ioctl,
	.llseek = noop_llseek,
};

static bool unprivileged;
module_param(unprivileged, bool, 0444);
MODULE_PARM_DESC(unprivileged,
		 "let everybody open /dev/kunwind and /proc/kunwind_debug");

umode_t kw_device_mode(void)
{
	return unprivileged ? 0666 : 0660;
}

static struct miscdevice device = {
	.minor = MISC_DYNAMIC_MINOR,
	.name = "kunwind",
	.fops = &fops,
};

int kw_device_init(void)
{
	device.mode = kw_device_mode();
	return misc_register(&device);
}

void kw_device_exit(void)
{
	misc_deregister(&device);
}
