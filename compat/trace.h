/* SPDX-License-Identifier: BSD-2-Clause */
/* Return addresses and nothing else, of this thread: unw_backtrace(). */
#ifndef OW_TRACE_H
#define OW_TRACE_H

#include <libunwind.h>

#include "machine.h"

/* As the assembly stores them; only what a callee saves. */
struct ow_trace_regs {
	uint64_t ip, sp, fp;
	uint64_t saved[OW_M_NR_SAVED]; /* in the order of ow_trace_saved */
};

/*
 * As unw_backtrace(), from the registers that its caller has afterwards.
 * Called by the assembly only.
 */
int ow_trace_begin(void **buffer, int size, const struct ow_trace_regs *regs)
	__attribute__((visibility("hidden")));

#endif /* OW_TRACE_H */
