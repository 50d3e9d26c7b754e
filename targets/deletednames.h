/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Names of files that end in " (deleted)" themselves.  The kernel lists a mapped file
 * whose name was removed with that behind its name (proc_pid_maps(5)), and another one
 * may have just that name.
 */
#ifndef OW_DELETEDNAMES_H
#define OW_DELETEDNAMES_H

#include <sys/types.h>

struct ow_mappings;

/*
 * Have code of such files listed with the whole name, and as not deleted.  What has
 * the whole name is looked at, by our root and by the process', and nobody who serves
 * it is asked: the kernel's cache has the name of a file that is mapped.  The suffix is
 * taken for the kernel's before Linux 5.12, for more than a thousand files, after names
 * that lead over many mounts have taken a second of CPU time, and where a FUSE server
 * wants to be asked for each name; and without CAP_SYS_ADMIN where the file system lists
 * another device than stat(2) tells, as btrfs does.
 */
void ow_deletednames_settle(struct ow_mappings *maps, pid_t pid);

#endif /* OW_DELETEDNAMES_H */
