/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Who a process is, by what the kernel tells at no cost.  Its status has all of it, too, but
 * 65,536 groups as well, for which it may take 25 ms (reach.h).
 */
#ifndef OW_PROCESSIDS_H
#define OW_PROCESSIDS_H

#include <stdbool.h>
#include <sys/types.h>

struct ow_processids {
	uid_t real, effective;
};

/*
 * Fill the users that a process runs as, which a set-user-ID program alone has two of.
 * Return false if only the status tells that: of root's processes, and others that may not be
 * looked at, before Linux 6.13; or if there is no such process.
 */
bool ow_processids_read(pid_t pid, struct ow_processids *ret);

/*
 * Return true if the process is in our own pid namespace: its number is one number.  For
 * work that a delegate does (reach.h): the kernel lets those wait who ask that while the
 * process executes a program.
 */
bool ow_processids_is_near(pid_t pid);

#endif /* OW_PROCESSIDS_H */
