/* SPDX-License-Identifier: BSD-2-Clause */
/* What a tool had to go without. */
#ifndef OW_MISSING_H
#define OW_MISSING_H

#include <stdbool.h>

/*
 * Say on stderr, in lines that begin with the tool's name, which objects were left
 * without something, and which files were lost: cut off while they were read, or
 * leased.  There are 8 lines of each kind, and one that counts the others.  Of files
 * that were lost nothing is said if is_told: the tool has said that nothing could be
 * done, and why.  Return true if there were files that were lost.
 */
bool missing_complain(const char *tool, bool is_told);

#endif /* OW_MISSING_H */
