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
 * If the stop broke off such a call of a thread, and no signal did, make the
 * thread call again when it runs on: as the kernel does it for other calls,
 * with the instruction pointer on the instruction that calls.  A timeout that
 * is given as a span begins anew.  bytes is the thread's register set as it was
 * read; it is not changed.
 */
void ow_restart_call(const struct ow_stop *s, const void *bytes, size_t size);

#endif /* OW_RESTART_H */
