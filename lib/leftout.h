/* SPDX-License-Identifier: BSD-2-Clause */
/* What files could not give, for people to be told of; by several threads at once. */
#ifndef OW_LEFTOUT_H
#define OW_LEFTOUT_H

#include <stddef.h>
#include <sys/types.h>

#define OW_LOST_CUT    "cut off, or not readable, while it was read"
#define OW_LOST_LEASED "leased by another process, which is not waited for"

/*
 * Note, once, that something of the file at path, or of what else path names, is left
 * out; what says of what, and why ("its DWARF takes too long").  ow_left_out() tells
 * of it.
 */
void ow_leave_out(const char *path, const char *what);

/*
 * Likewise of a file that nobody but root and we may write to.  Its line comes before
 * those of other files, and other files can't take its place.
 */
void ow_leave_out_ours(const char *path, const char *what);

/* Note, once, among these why what was had of the file may be false. */
void ow_doubt(const char *path, const char *why);

/* Note, once, that all of the file is lost, and why; ow_file_lost() tells of it. */
void ow_lose_file(const char *path, const char *why);

#define OW_PROCESSES_NAME 48 /* bytes of room */

/*
 * Write to buf what lines call the processes of a user, and return it; uid -1: of users
 * who are not known.
 */
const char *ow_name_processes(uid_t uid, char buf[OW_PROCESSES_NAME]);

/* As ow_lose_file(), of what processes of a user have. */
void ow_lose_processes(uid_t uid, const char *why);

/* "PATH: WHY" of the i-th file that was lost, or NULL; the text stays for good. */
const char *ow_lost_line(size_t i);

/* How many there were, up to OW_MOST_COUNTED. */
size_t ow_nr_lost_lines(void);

#endif /* OW_LEFTOUT_H */
