/* SPDX-License-Identifier: BSD-2-Clause */
/* Paths that no other user can give another meaning. */
#ifndef OW_OWNPATH_H
#define OW_OWNPATH_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Open what is at an absolute path with O_PATH, if only root and we decide what
 * that is: each folder and link on the way, and what is there, belongs to one of
 * us, and nobody else may write to it.  In folders like /tmp, where anybody may make
 * files but only their owners remove them, that is asked of the files.  With make,
 * folders that are not there are made, the last one, too.
 * Return -1 with errno: EPERM if another user could.
 */
int ow_ownpath_open(const char *path, bool make);

/*
 * Return true if such a path leads to a regular file on a disk, or in memory, that
 * no program serves and that is none of /proc's: for what is opened by name by code
 * that doesn't look at what it opens.
 */
bool ow_path_is_own(const char *path);

/*
 * Fill buf with the folder that our caches are in: $XDG_CACHE_HOME, or .cache in our own
 * home, or root's.  Nobody has looked whether others may write there.  Return false if there
 * is none, or not enough room.
 */
bool ow_ownpath_caches(char *buf, size_t size);

#endif /* OW_OWNPATH_H */
