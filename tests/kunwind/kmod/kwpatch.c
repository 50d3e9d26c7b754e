// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* A live patch of a function that kunwind's hook redirects. */
#include <linux/livepatch.h>
#include <linux/module.h>

static unsigned int patched(unsigned long *store, unsigned int size)
{
	return 0;
}

static struct klp_func funcs[] = {
	{ .old_name = "stack_trace_save_user", .new_func = patched },
	{},
};

static struct klp_object objs[] = {
	{ .funcs = funcs }, /* the kernel's own */
	{},
};

static struct klp_patch patch = { .mod = THIS_MODULE, .objs = objs };

static int __init kwpatch_init(void)
{
	return klp_enable_patch(&patch);
}

/* Not before the patch was disabled, which is for sysfs. */
static void __exit kwpatch_exit(void)
{
}

module_init(kwpatch_init);
module_exit(kwpatch_exit);
MODULE_LICENSE("Dual BSD/GPL");
MODULE_INFO(livepatch, "Y");
MODULE_DESCRIPTION("test of kunwind's hook");
