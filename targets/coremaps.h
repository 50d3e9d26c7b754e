/* SPDX-License-Identifier: BSD-2-Clause */
/* Where a core's program had code, and which files that is from. */
#ifndef OW_COREMAPS_H
#define OW_COREMAPS_H

#include "corenotes.h"

/* An executable range. */
struct ow_corepiece {
	uint64_t start, end;
	uint64_t off;     /* in the file, of start */
	uint64_t head;    /* addr where the file begins */
	const char *path; /* NULL: not known; one of paths, once added */
	bool is_given;    /* path is the user's own */
	bool is_file;     /* off and head are known */
};

/* A core that is being taken in. */
struct ow_core {
	struct ow_capture *c;
	const char *path;        /* of the core */
	const char *exe;         /* the program, given by the user, or NULL */
	const char *sysroot;     /* or NULL */
	struct ow_intern *paths; /* of all pieces and files; the capture's */
	struct ow_elf elf;
	struct ow_corenotes notes;
	struct ow_corepiece *pieces;
	size_t nr_pieces, room;
	size_t nr_sorted; /* pieces that ow_coremaps_at() looks at */
};

/*
 * Add a piece; path is copied.  Return false if memory is out; a piece that would
 * take more than it may is left out.
 */
bool ow_coremaps_add(struct ow_core *core, const struct ow_corepiece *piece);

/* Put the pieces in order, so that ow_coremaps_at() finds them. */
void ow_coremaps_sort(struct ow_core *core);

/* The sorted piece that has something of the range, or NULL. */
struct ow_corepiece *ow_coremaps_at(struct ow_core *core, uint64_t start,
				    uint64_t end);

/*
 * Add what the headers of the segments and NT_FILE tell; afterwards the pieces
 * are sorted.  Return 0 or fill err.
 */
int ow_coremaps_take(struct ow_core *core, struct ow_error *err);

/* Make the capture's ranges and modules of the pieces, and free those. */
int ow_coremaps_finish(struct ow_core *core, struct ow_error *err);

void ow_coremaps_free(struct ow_core *core);

#endif /* OW_COREMAPS_H */
