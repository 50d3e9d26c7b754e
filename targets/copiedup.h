/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Files that are other ones than those that a process has mapped, though all their
 * numbers are the same: an overlay copies a file up before it is written to, and keeps
 * its inode number; what is mapped stays the file below
 * (Linux, Documentation/filesystems/overlayfs.rst).
 */
#ifndef OW_COPIEDUP_H
#define OW_COPIEDUP_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct ow_object;

/*
 * Return true if the object's file is not what the process has mapped, at addr from
 * the file's offset off on.  The file's head is compared with memory, if the file has
 * changed since the process began, or if the object is a copy.  What can't be read, or
 * is on a disk's own file system, is taken for the file; so is what comes after the
 * first 64 mappings of a process that were compared within a second.  The process can
 * have written to its memory: the answer is for that process alone.
 */
bool ow_copiedup_is(pid_t pid, uint64_t addr, uint64_t off,
		    const struct ow_object *obj);

#endif /* OW_COPIEDUP_H */
