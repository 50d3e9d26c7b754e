/* SPDX-License-Identifier: BSD-2-Clause */
/* Numbers of the kernel's tracepoints. */
#ifndef OW_TRACEPOINTS_H
#define OW_TRACEPOINTS_H

#include <stdint.h>

/*
 * The number of a tracepoint, such as "raw_syscalls/sys_enter", by which perf events
 * know it; 0 if it can't be found.  Where no tracefs is mounted at its place, one is
 * that nobody else sees.
 */
uint64_t ow_tracepoint_id(const char *name);

#endif /* OW_TRACEPOINTS_H */
