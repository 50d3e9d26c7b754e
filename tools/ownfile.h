/* SPDX-License-Identifier: BSD-2-Clause */
/* Files that are written where others may have put something of that name. */
#ifndef OW_OWNFILE_H
#define OW_OWNFILE_H

#include <stdbool.h>
#include <stdio.h>
#include <sys/stat.h>

/* What a path leads to, looked at once: a name in a folder, and what is there. */
struct ownfile {
	int folder;       /* O_PATH; -1: none */
	char *name;       /* in the folder; NULL: none */
	struct stat is;   /* what is there; st_mode is 0: nothing */
	bool is_reserved; /* that is an empty file of ours, to be replaced */
	bool is_magic;    /* the name is a link of proc(5), to what has none */
	unsigned int nr_links; /* that led there */
};

/*
 * Find the file that path leads to: the last part of path is followed if it is a
 * link.  Return false and errno otherwise: EPERM if another user's file or link is
 * met in a folder where others may make some, such as /tmp, as who reads what is
 * written to it, and where it leads to, is that user's choice, but for a file of the
 * folder's owner; ELOOP if a link leads to what has no name (proc(5), /proc/PID/fd),
 * or if there are too many.  Either way the caller ends it by ownfile_deinit().
 */
bool ownfile_find(struct ownfile *f, const char *path);

/*
 * Where nothing is there, and others may make files but not remove ours (as in /tmp), put
 * an empty file there: a folder of another user couldn't be replaced.  What has come there
 * by now stays.  Return false and errno if no file can be made.
 */
bool ownfile_reserve(struct ownfile *f);

/* Remove such a file again. */
void ownfile_unreserve(struct ownfile *f);

void ownfile_deinit(struct ownfile *f);

/*
 * As fopen(path, "w"), but for such files and links: NULL, errno is EPERM.
 */
FILE *ownfile_create(const char *path);

/*
 * The same as a file descriptor, or -1.  It may be one that doesn't wait (EAGAIN), if
 * what is there is no regular file.
 */
int ownfile_open(const char *path);

#endif /* OW_OWNFILE_H */
