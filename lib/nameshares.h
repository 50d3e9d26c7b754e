/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Names that are kept for stacks of several users' processes, each name once.  It is of
 * the share of who asks for it first.  Anybody can have files without end whose names
 * are long: so what the processes of a user but root ask for may have half of what is
 * not used by others, and the names of one file a quarter.
 */
#ifndef OW_NAMESHARES_H
#define OW_NAMESHARES_H

#include <sys/types.h>

#include "intern.h"

struct ow_nameshare; /* of a user */

/* All zero is without names. */
struct ow_nameshares {
	struct ow_intern strings;
	struct ow_nameshare *all;
	size_t nr, room;
	bool is_short; /* a name had no room since the last ow_nameshares_clear() */
};

/* What names are from. */
struct ow_namesource {
	const char *path; /* for people; borrowed */
	size_t used;      /* bytes of the kept names */
};

/*
 * The kept copy of a name that is asked for on behalf of a user (-1: not known); NULL for
 * NULL, and where there is no room for it, which is noted (ow_budget_refuse()).
 */
const char *ow_nameshares_keep(struct ow_nameshares *n, uid_t uid,
			       struct ow_namesource *from, const char *name);

/* Forget all names, which are not valid any more: as many may be kept again. */
void ow_nameshares_clear(struct ow_nameshares *n);

void ow_nameshares_deinit(struct ow_nameshares *n);

#endif /* OW_NAMESHARES_H */
