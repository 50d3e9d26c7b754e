// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * Does, when it is loaded, what a kernel that checks itself must report: a proof
 * that the lack of reports means something.  insmod kwwrong.ko what=NAME.
 */
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/rcupdate.h>
#include <linux/slab.h>
#include <linux/spinlock.h>

static char *what = "";
module_param(what, charp, 0444);

static DEFINE_MUTEX(first);
static DEFINE_MUTEX(second);
static DEFINE_SPINLOCK(lock);
static int __rcu *pointer;
static volatile int sink;

static void use_after_free(void)
{
	volatile int *p = kmalloc(64, GFP_KERNEL);

	kfree((void *)p);
	sink = p[3];
}

static void out_of_bounds(void)
{
	volatile int index = 16;
	int *p = kmalloc(64, GFP_KERNEL);

	sink = p[index];
	kfree(p);
}

static void sleep_in_atomic(void)
{
	spin_lock(&lock);
	might_sleep();
	spin_unlock(&lock);
}

static void rcu_unlocked(void)
{
	sink = rcu_dereference(pointer) != NULL;
}

static void lock_order(void)
{
	mutex_lock(&first);
	mutex_lock(&second);
	mutex_unlock(&second);
	mutex_unlock(&first);
	mutex_lock(&second);
	mutex_lock(&first);
	mutex_unlock(&first);
	mutex_unlock(&second);
}

static const struct {
	const char *name;
	void (*run)(void);
} all[] = {
	{ "use-after-free", use_after_free },
	{ "out-of-bounds", out_of_bounds },
	{ "sleep-in-atomic", sleep_in_atomic },
	{ "rcu-unlocked", rcu_unlocked },
	{ "lock-order", lock_order },
};

static int __init kwwrong_init(void)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(all); i++)
		if (strcmp(all[i].name, what) == 0) {
			all[i].run();
			return 0;
		}
	return -EINVAL;
}

static void __exit kwwrong_exit(void)
{
}

module_init(kwwrong_init);
module_exit(kwwrong_exit);
MODULE_LICENSE("Dual BSD/GPL");
MODULE_DESCRIPTION("what a kernel's own checks must report");
