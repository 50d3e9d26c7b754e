/* SPDX-License-Identifier: BSD-2-Clause */
/* Folders to write files to, where other users may have put something, too. */
#ifndef OW_OWNFOLDER_H
#define OW_OWNFOLDER_H

#include <stdbool.h>
#include <sys/stat.h>

#define OW_OWNFOLDER_LINKS 40 /* that a path may lead over, as the kernel's */

/* Return true if others than root and we may have made what is in a folder. */
bool ow_ownfolder_is_open(const struct stat *folder);

/*
 * Return true if what is in a folder is another user's.  The folder's owner may have files
 * written to, but not choose where a link leads.
 */
bool ow_ownfolder_is_anothers(const struct stat *st, const struct stat *folder);

/* Return true if both are so, for what is in the folder at fd. */
bool ow_ownfolder_has_others(int fd, const struct stat *st);

/* Return true if the link at fd is of proc(5): it may lead elsewhere than its text says. */
bool ow_ownfolder_is_magic(int fd);

/*
 * Open the folder that the last part of path is in, O_PATH, from the one at base on.
 * Links on the way are followed, but no other user's in a folder where others may make
 * some: where such a link leads is that user's choice.  Return -1 with errno: EPERM for
 * that; ELOOP once *links, which each link adds one to, is OW_OWNFOLDER_LINKS.
 */
int ow_ownfolder_open(int base, const char *path, unsigned int *links);

#endif /* OW_OWNFOLDER_H */
