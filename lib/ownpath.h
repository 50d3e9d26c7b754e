/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef OW_OWNPATH_H
#define OW_OWNPATH_H

#include <stdbool.h>

/*
 * Return true if an absolute path leads to a regular file, over no symbolic link,
 * and nobody but root and the user that this process runs as can change that: for
 * what is opened by name by code that doesn't look at what it opens.
 */
bool ow_path_is_own(const char *path);

#endif /* OW_OWNPATH_H */
