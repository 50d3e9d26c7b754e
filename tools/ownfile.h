/* SPDX-License-Identifier: BSD-2-Clause */
/* Files that are written where others may have put something of that name. */
#ifndef OW_OWNFILE_H
#define OW_OWNFILE_H

#include <stdbool.h>
#include <stdio.h>

/*
 * Return true if what is at path is another user's file or link, in a folder where
 * anybody may make some, such as /tmp: who it leads to, and who reads what is
 * written to it, is that user's choice.
 */
bool ownfile_is_others(const char *path);

/*
 * As fopen(path, "w"), but for such files, and for links there: NULL, errno is
 * EPERM.
 */
FILE *ownfile_create(const char *path);

#endif /* OW_OWNFILE_H */
