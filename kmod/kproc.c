// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#include "kproc.h"

#include <linux/compat.h>
#include <linux/fs.h>
#include <linux/mm.h>
#include <linux/proc_fs.h>
#include <linux/sched/task_stack.h>
#include <linux/uaccess.h>

#include "ow_kunwind_proc.h"

#include "kclient.h"
#include "kdevice.h"
#include "kheirs.h"
#include "kunwind.h"

static int open(struct inode *inode, struct file *file)
{
	struct kw_session *s = kw_session_create();

	if (IS_ERR(s))
		return PTR_ERR(s);
	file->private_data = s;
	return 0;
}

static int release(struct inode *inode, struct file *file)
{
	kw_client_close(file->private_data);
	return 0;
}

/* The map that stacks are unwound by; tables came, or come, by /dev/kunwind. */
static long do_info(struct file *file)
{
	struct ow_kunwind_follow self = { .pid = 0 };

	return kw_client_follow(file->private_data, &self);
}

/* What is wanted of bt, to the entries that it points to. */
static long unwind(struct ow_kunwind_proc_backtrace *bt)
{
	unsigned int room = min_t(u32, bt->max_entries, KUNWIND_MAX_FRAMES);
	enum ow_end end;
	unsigned long *pcs;
	u64 __user *to = u64_to_user_ptr(bt->entries);
	long err = 0;
	int nr, i;

	if (room == 0)
		return -EINVAL;
	pcs = kvmalloc_array(room, sizeof(*pcs), GFP_KERNEL_ACCOUNT);
	if (!pcs)
		return -ENOMEM;
	kw_heirs_catch_up();
	nr = kunwind_user_pcs(task_pt_regs(current), pcs, room, &end);
	for (i = 0; i < nr && !err; i++)
		err = put_user((u64)pcs[i], &to[i]);
	kvfree(pcs);
	bt->nr_entries = max(nr, 0);
	return nr < 0 ? nr : err;
}

static long do_unwind(void __user *arg)
{
	struct ow_kunwind_proc_backtrace bt;
	struct ow_kunwind_proc_backtrace __user *to = arg;
	long err;

	if (copy_from_user(&bt, arg, sizeof(bt)))
		return -EFAULT;
	err = unwind(&bt);
	return err ? err : put_user(bt.nr_entries, &to->nr_entries);
}

static long ioctl(struct file *file, unsigned int cmd, unsigned long arg)
{
	switch (cmd) {
	case OW_KUNWIND_PROC_INFO: return do_info(file);
	case OW_KUNWIND_PROC_UNWIND: return do_unwind((void __user *)arg);
	default: return -ENOTTY;
	}
}

#ifdef CONFIG_COMPAT
/* The same with a pointer of 32 bits; entries are of 64 bits there, too. */
struct compat_backtrace {
	u32 max_entries, nr_entries;
	compat_uptr_t entries;
};

static long compat_unwind(void __user *arg)
{
	struct compat_backtrace __user *to = arg;
	struct compat_backtrace c;
	struct ow_kunwind_proc_backtrace bt;
	long err;

	if (copy_from_user(&c, arg, sizeof(c)))
		return -EFAULT;
	bt.max_entries = c.max_entries;
	bt.entries = (uintptr_t)compat_ptr(c.entries);
	err = unwind(&bt);
	return err ? err : put_user(bt.nr_entries, &to->nr_entries);
}

static long compat_ioctl(struct file *file, unsigned int cmd, unsigned long arg)
{
	if (cmd == OW_KUNWIND_PROC_UNWIND)
		return compat_unwind(compat_ptr(arg));
	return ioctl(file, cmd, arg);
}
#endif

static const struct proc_ops ops = {
	.proc_open = open,
	.proc_release = release,
	.proc_ioctl = ioctl,
#ifdef CONFIG_COMPAT
	.proc_compat_ioctl = compat_ioctl,
#endif
	.proc_lseek = noop_llseek,
};

int kw_proc_init(void)
{
	return proc_create("kunwind_debug", kw_device_mode(), NULL, &ops) ?
		       0 :
		       -ENOMEM;
}

void kw_proc_exit(void)
{
	remove_proc_entry("kunwind_debug", NULL);
}
