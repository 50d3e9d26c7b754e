// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * Samples of programs' stacks: at a clock's ticks, page faults and system
 * calls, and where threads wait.  What is equal is counted here; a stack leaves
 * the kernel once.
 */
#include "bpflives.h"
#include "bpfsyscall.h"
#include "bpfwaiting.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

SEC("perf_event")

int on_clock(struct user_regs *ctx)
{
	struct walk *w = take(ctx, ctx, SLOT_CLOCK, OW_SAMPLE_CPU);

	if (w)
		count(w, 1, 1);
	return 0;
}

SEC("perf_event")

int on_fault(struct user_regs *ctx)
{
	struct walk *w = take(ctx, ctx, SLOT_FAULT, OW_SAMPLE_FAULT);

	if (w)
		count(w, 1, 1);
	return 0;
}
