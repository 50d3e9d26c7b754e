// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* kunwind: user stacks unwound in the kernel, by outwind's compact tables. */
#include <linux/module.h>

#include "kcontext.h"
#include "kdevice.h"
#include "kfollow.h"
#include "kheirs.h"
#include "khook.h"
#include "kproc.h"
#include "kptrace.h"
#include "kqueue.h"
#include "ksubuids.h"
#include "ktable.h"
#include "kuse.h"

/* In order; undone in reverse. */
static const struct {
	int (*init)(void);
	void (*exit)(void);
} parts[] = {
	{ NULL, kw_subuids_exit },
	{ NULL, kw_contexts_exit },
	{ kw_table_init, NULL },
	{ kw_use_init, NULL },
	{ kw_queue_init, kw_queue_exit },
	{ kw_ptrace_init, kw_ptrace_exit },
	{ kw_follow_init, kw_follow_exit },
	{ kw_heirs_init, kw_heirs_exit },
	{ kw_device_init, kw_device_exit },
	{ kw_proc_init, kw_proc_exit },
	{ kw_hook_init, kw_hook_exit },
};

static void leave(size_t nr)
{
	while (nr-- > 0)
		if (parts[nr].exit)
			parts[nr].exit();
}

/* What this kernel doesn't have. */
static void tell_lacks(void)
{
	u32 features = kw_heirs_features() | kw_hook_features();

	if (!(features & OW_KUNWIND_TRACKS_EXEC))
		pr_info("kunwind: no tracepoints: fork and exec are not followed\n");
	if (!(features & OW_KUNWIND_TRACKS_MMAP))
		pr_info("kunwind: no kprobes: new mappings are seen late\n");
	if (!(features & OW_KUNWIND_HOOKS))
		pr_info("kunwind: no ftrace with registers: no hook\n");
}

static int __init kunwind_init(void)
{
	size_t i;
	int err;

	for (i = 0; i < ARRAY_SIZE(parts); i++) {
		err = parts[i].init ? parts[i].init() : 0;
		if (err) {
			leave(i);
			return err;
		}
	}
	tell_lacks();
	return 0;
}

static void __exit kunwind_exit(void)
{
	leave(ARRAY_SIZE(parts));
}

module_init(kunwind_init);
module_exit(kunwind_exit);
MODULE_LICENSE("Dual BSD/GPL");
MODULE_DESCRIPTION("User stacks unwound in the kernel, without frame pointers");
MODULE_VERSION("0.1.0");
