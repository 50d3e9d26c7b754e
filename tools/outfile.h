/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Where output goes: a file that is there, or replaced, once all of it is
 * written, or standard output.
 */
#ifndef OW_OUTFILE_H
#define OW_OUTFILE_H

#include <stdbool.h>
#include <stdio.h>

#include "ownfile.h"

struct outfile {
	FILE *f;               /* to write to; it has the outfile's address */
	int fd;                /* what f writes to */
	const char *path;      /* borrowed; NULL: standard output */
	struct ownfile target; /* that f is to become, if its folder is open */
	char temporary[32]; /* what f is called there until then; "": nothing */
	bool is_whole;      /* all is written, but for the target's name */
};

/* Is it NULL or "-"? */
bool outfile_is_stdout(const char *path);

/*
 * Open path, or standard output.  What is there and is no regular
 * file is written to straight.  False, with a complaint, if that fails.
 */
bool outfile_open(struct outfile *o, const char *path);

/*
 * Write out what f holds and put the file in its place, unless status is
 * EXIT_NONE: then whatever was there stays.  Return status, or EXIT_NONE with a
 * complaint if that fails.
 */
int outfile_close(struct outfile *o, int status);

#endif /* OW_OUTFILE_H */
