/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Threads that wait in the kernel: their stacks can be had without a stop.
 *
 * /proc/PID/task/TID/syscall tells such a thread's sp and pc (proc_pid_syscall(5));
 * if it says the same after the stack has been copied, and the thread was not
 * given a CPU meanwhile, it did not move.  No other register is known.  Where pc may
 * not be an address (waitplace.h), its way into the kernel has to bear it out
 * (callentry.h).
 */
#ifndef OW_BLOCKED_H
#define OW_BLOCKED_H

struct ow_taken;

/*
 * Take the threads that aren't captured yet and wait in the kernel; those that
 * moved are tried again a few times.  What is left has neither registers nor a
 * reason.
 */
void ow_blocked_take(struct ow_taken *t);

/*
 * Take also those that moved each time, or whose pc nothing bears out, as not certain,
 * and give those that run, or wait elsewhere than pc says, a reason.
 */
void ow_blocked_take_any(struct ow_taken *t);

#endif /* OW_BLOCKED_H */
