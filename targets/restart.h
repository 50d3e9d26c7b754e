/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * System calls that a stop breaks off.
 *
 * Most calls go on after a stop as if nothing had been; a few return EINTR,
 * which the program was not to see (signal(7), "Interruption of system calls
 * and library functions by stop signals").
 */
#ifndef OW_RESTART_H
#define OW_RESTART_H

#include <stddef.h>

struct ow_stop;

/*
 * If such a call of a thread was broken off by the stop, or by a signal that
 * came meanwhile, let the kernel decide when the thread runs on, as it does for
 * other calls: EINTR if a handler is to run, else the call is made again.  A
 * timeout that is given as a span begins anew then.  So it is done, too, with a call
 * that would go on by restart_syscall(2), where a filter of the thread
 * (seccomp(2)) doesn't let that pass.  bytes is the thread's register set as it was
 * read; it is not changed.
 */
void ow_restart_call(const struct ow_stop *s, const void *bytes, size_t size);

#endif /* OW_RESTART_H */
