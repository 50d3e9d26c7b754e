/* SPDX-License-Identifier: BSD-2-Clause */
/* The filters of system calls that a stopped thread has (seccomp(2)). */
#ifndef OW_SECCOMP_H
#define OW_SECCOMP_H

#include <linux/seccomp.h>
#include <stdbool.h>
#include <sys/types.h>

/*
 * Return true if every filter of the thread, which is stopped by us, lets the call
 * pass: also if it has none.  Return false, too, if its filters can't be had, which
 * takes CAP_SYS_ADMIN (ptrace(2), PTRACE_SECCOMP_GET_FILTER), or are too long or too many
 * to run while it is stopped, or the run has no time left for that.
 */
bool ow_seccomp_allows(pid_t tid, const struct seccomp_data *call);

#endif /* OW_SECCOMP_H */
