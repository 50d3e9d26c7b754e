/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * kunwind for other modules: the user stack of the current task, without frame
 * pointers, in any context.  A process is unwound by the tables that user space
 * handed in for it (/dev/kunwind); of one that nobody follows only the innermost
 * frame is known, and the end is OW_END_NO_MODULE.
 */
#ifndef KUNWIND_H
#define KUNWIND_H

#include <linux/ptrace.h>
#include <linux/types.h>

#include "ow_frame.h"

#define KUNWIND_MAX_FRAMES 1024

/*
 * The stack of current's user code from regs on, which are task_pt_regs(current)
 * or what a perf event was given; fills up to max frames, innermost first, and
 * *end, the reason that there are no more.  Any context, also NMI: no sleep, no
 * allocation, no lock; pages that aren't there end the walk with OW_END_FAULT.
 *
 * Return the number of frames, at least 1; -EINVAL: max is 0, or current is no
 * user's; -EBUSY: called by what a walk on this CPU in the same context called,
 * -EOPNOTSUPP: code of an architecture that isn't known.
 */
int kunwind_user_stack(struct pt_regs *regs, struct ow_frame *frames,
		       unsigned int max, enum ow_end *end);

/* The same, program counters only, as stack_trace_save_user() has them. */
int kunwind_user_pcs(struct pt_regs *regs, unsigned long *pcs, unsigned int max,
		     enum ow_end *end);

/*
 * The same in process context, where it may sleep: pages that aren't there are
 * fetched.  Beside the above: -ENOMEM.
 */
int kunwind_user_stack_faulting(struct pt_regs *regs, struct ow_frame *frames,
				unsigned int max, enum ow_end *end);

/* A walk that is put off until current is about to be in user mode again. */
struct kunwind_deferred {
	/*
	 * Called in process context with what kunwind_user_stack_faulting()
	 * gives: frames and end where nr is positive; they are gone
	 * afterwards, and d may be.
	 */
	void (*func)(struct kunwind_deferred *d, const struct ow_frame *frames,
		     int nr, enum ow_end end);
	unsigned int max; /* frames, up to KUNWIND_MAX_FRAMES */
};

/*
 * Put off a walk of current; any context but NMI.  Until func has been called, d
 * and the module that func is in must stay: kunwind_deferred_flush() waits.
 * Return 0, -ENOMEM, -EINVAL for no user's task, or -ESRCH: it is exiting.
 */
int kunwind_user_stack_deferred(struct kunwind_deferred *d);

/* Wait until all that was put off has been called; may take as long as tasks
   stay in the kernel. */
void kunwind_deferred_flush(void);

/*
 * The original kunwind's call.  The kernel's own struct stack_trace is gone where
 * it has ARCH_STACKWALK; this is it.  Fills entries behind nr_entries, up to
 * max_entries, and ends with ULONG_MAX if there is room.
 */
struct kunwind_stack_trace {
	unsigned int nr_entries, max_entries;
	unsigned long *entries;
	int skip; /* innermost frames that aren't wanted */
};

void save_stack_trace_kunwind(struct kunwind_stack_trace *trace);

#endif /* KUNWIND_H */
