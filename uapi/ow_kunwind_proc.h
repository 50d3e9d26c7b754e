/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) WITH Linux-syscall-note */
/*
 * The original kunwind's interface, /proc/kunwind_debug: as it was, but that the
 * unwind data comes by /dev/kunwind, from the process or from a daemon.
 */
#ifndef UAPI_OW_KUNWIND_PROC_H
#define UAPI_OW_KUNWIND_PROC_H

#include <linux/ioctl.h>
#include <linux/types.h>

#define OW_KUNWIND_PROC "/proc/kunwind_debug"

/* Have the process known; the argument, NULL or struct proc_info *, is not used. */
#define OW_KUNWIND_PROC_INFO _IO(0xF6, 0x91)

/*
 * The calling thread's stack, to a struct kunwind_backtrace: program counters,
 * the system call's first.  A stack that ends early is returned as far as it
 * goes.  EINVAL: max_entries is 0.
 */
#define OW_KUNWIND_PROC_UNWIND _IO(0xF6, 0x92)

struct ow_kunwind_proc_backtrace {
	__u32 max_entries, nr_entries;
	__u64 entries; /* a pointer, of 4 bytes from 32-bit callers */
};

#endif /* UAPI_OW_KUNWIND_PROC_H */
