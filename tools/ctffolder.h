/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A trace's folder, for a library that opens its files by their names, while a user
 * whose folder it is may put something else there: a FIFO, or a link to a device.
 */
#ifndef OW_CTFFOLDER_H
#define OW_CTFFOLDER_H

#include <stdbool.h>
#include <stddef.h>

struct ctf_folder {
	char *path; /* that the library may open */
	int mount;  /* a file system of links that nobody else sees; or -1 */
	int *fds;   /* and what they lead to */
	size_t nr, room;
};

/*
 * Open all files of a folder, but for folders.  Without the right to mount file
 * systems, as root has it, only look at their kinds.  Return false, and why, of size
 * bytes, if one is no regular file, or can't be opened.  ctf_folder_close() then, too.
 */
bool ctf_folder_open(struct ctf_folder *f, const char *folder, char *why,
		     size_t size);

void ctf_folder_close(struct ctf_folder *f);

#endif /* OW_CTFFOLDER_H */
