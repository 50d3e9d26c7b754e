/* SPDX-License-Identifier: BSD-2-Clause */
/* The folder that compact tables are kept in; ow_table_dir() tells which. */
#ifndef OW_TABLEDIR_H
#define OW_TABLEDIR_H

#include <stdbool.h>

struct ow_error;

/* Return true if there is such a folder, in which nobody else can put tables. */
bool ow_tabledir_exists(void);

/* Open a file in it for reading, without waiting for anything; -1 if that fails. */
int ow_tabledir_read(const char *name);

/*
 * Open the folder itself, with O_PATH; it is made if need be.  The fd is the
 * caller's.  Return -1 and fill err if that fails, or if another user could put
 * something there.
 */
int ow_tabledir_make(struct ow_error *err);

#endif /* OW_TABLEDIR_H */
