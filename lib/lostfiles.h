/* SPDX-License-Identifier: BSD-2-Clause */
/* Files that were needed and could not be read, for people to be told of. */
#ifndef OW_LOSTFILES_H
#define OW_LOSTFILES_H

#include <stddef.h>

#define OW_LOST_LEASED "leased by another process, which is not waited for"

/* Note, once, that the file of that name is lost, and why. */
void ow_lostfile_note(const char *name, const char *why);

/*
 * "NAME: WHY" of the i-th file that was noted, or NULL if there are no more; it
 * lives as long as the process.  After many "other files: WHY" is the last one.
 */
const char *ow_lostfile_get(size_t i);

#endif /* OW_LOSTFILES_H */
