// SPDX-License-Identifier: GPL-2.0-only
/* lttng-kunwind: LTTng's events of full user stacks, and of what is mapped. */
#include <linux/module.h>

#include "lkmaps.h"
#include "lkpoints.h"
#include "lkprobe.h"
#include "lkstack.h"
#include "lktrace.h"

DEFINE_TRACE(kunwind_callstack, TP_PROTO(unsigned int point, int nr),
	     TP_ARGS(point, nr));
DEFINE_TRACE(kunwind_syscall_exit, TP_PROTO(int nr, long ret),
	     TP_ARGS(nr, ret));
DEFINE_TRACE(kunwind_map, TP_PROTO(const struct lk_mapping *map), TP_ARGS(map));
DEFINE_TRACE(kunwind_fork,
	     TP_PROTO(const struct lk_process *parent,
		      const struct lk_process *child),
	     TP_ARGS(parent, child));
DEFINE_TRACE(kunwind_exec, TP_PROTO(const struct lk_process *process),
	     TP_ARGS(process));

/* In order; undone in reverse: stacks have room before anybody asks for them. */
static const struct {
	int (*init)(void);
	void (*exit)(void);
} parts[] = {
	{ lk_stack_init, lk_stack_exit },
	{ lk_probe_init, lk_probe_exit },
	{ lk_maps_init, lk_maps_exit },
	{ lk_points_init, lk_points_exit },
};

static void leave(size_t nr)
{
	while (nr-- > 0)
		parts[nr].exit();
}

static int __init lttng_kunwind_init(void)
{
	size_t i;
	int err;

	for (i = 0; i < ARRAY_SIZE(parts); i++) {
		err = parts[i].init();
		if (err) {
			leave(i);
			return err;
		}
	}
	return 0;
}

static void __exit lttng_kunwind_exit(void)
{
	leave(ARRAY_SIZE(parts));
}

module_init(lttng_kunwind_init);
module_exit(lttng_kunwind_exit);
MODULE_LICENSE("GPL v2");
MODULE_DESCRIPTION("LTTng events of full user stacks, without frame pointers");
MODULE_VERSION("0.1.0");
/* lttng-sessiond --extra-kmod-probes=kunwind asks for it by this name. */
MODULE_ALIAS("lttng-probe-kunwind");
