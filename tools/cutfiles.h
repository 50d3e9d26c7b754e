/* SPDX-License-Identifier: BSD-2-Clause */
/* Files that a tool could not read, as they were cut off or leased. */
#ifndef OW_CUTFILES_H
#define OW_CUTFILES_H

#include <stdbool.h>

/*
 * Say of each on stderr why, in a line that begins with the tool's name.
 * Return false if there was none.
 */
bool cutfiles_complain(const char *tool);

#endif /* OW_CUTFILES_H */
