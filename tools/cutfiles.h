/* SPDX-License-Identifier: BSD-2-Clause */
/* Files that were cut off while a tool read them. */
#ifndef OW_CUTFILES_H
#define OW_CUTFILES_H

#include <stdbool.h>

/*
 * Say of each on stderr, in a line that begins with the tool's name, that it was.
 * Return false if there was none.
 */
bool cutfiles_complain(const char *tool);

#endif /* OW_CUTFILES_H */
