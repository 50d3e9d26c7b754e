/* SPDX-License-Identifier: BSD-2-Clause */
/* Opening a file as a target names it, below a folder that has its files. */
#ifndef OW_SYSROOT_H
#define OW_SYSROOT_H

/*
 * Open a file for reading, if it is a regular one, as if sysroot were the root
 * of all: absolute symbolic links and ".." stay below it.  sysroot NULL is the
 * system itself.  Return -1 with errno: EINVAL if it is no regular file, ELOOP
 * if links go round.  What serves the file may never answer: for work that a
 * delegate does (reach.h).
 */
int ow_sysroot_open(const char *sysroot, const char *path);

/*
 * The same where the kernel has no openat2(2) (before Linux 5.6, and in some
 * containers): link by link, so that who changes the folder meanwhile may lead
 * it elsewhere.  sysroot must not be NULL.
 */
int ow_sysroot_open_by_steps(const char *sysroot, const char *path);

#endif /* OW_SYSROOT_H */
