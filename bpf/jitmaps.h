/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The maps for perf of sampled processes whose JITs make code, as they grew: a
 * line holds from when it was there, and a process that has ended leaves its map
 * behind.
 */
#ifndef OW_JITMAPS_H
#define OW_JITMAPS_H

#include <outwind/outwind.h>

#include "nameshares.h"
#include "ow_sample.h"
#include "usertimes.h"

struct ow_jitmap; /* of one process */

/* All zero is none. */
struct ow_jitmaps {
	struct ow_jitmap **all;
	size_t nr, room;
	size_t bytes;        /* that all take */
	unsigned int nr_cut; /* maps, ever, that there was no room for */
	struct ow_nameshares names;
	const volatile int *asked; /* reading ends when that changes; or NULL */
	struct ow_usertimes times; /* that reading has taken */
	uint64_t rests_until;      /* ns: maps are not read, or for less time */
	pid_t refused; /* no map was looked for, the last time; or 0 */
};

/*
 * A stack of a process has frames in code of no object: if there is a map of it,
 * that is going to be read.  Where the maps of many processes are read, the map that
 * was wanted the longest ago goes, of the user who has the most of them.  To look for maps
 * takes time: none is looked for, and one counts as cut, where the user who answers for the
 * process is ahead of what reads of maps may take.
 */
void ow_jitmaps_want(struct ow_jitmaps *j, pid_t pid, uid_t uid);

/* The process runs something else now, that may have a map of its own. */
void ow_jitmaps_exec(struct ow_jitmaps *j, pid_t pid);

/*
 * Read what maps have more than before; of those that are due, unless all.
 *
 * Any user can have processes with large maps without end, which cost nothing.  So this
 * takes a second at most, and a user's maps, but root's, take an eighth of the time, a
 * second of which may be at once.  Those of users who are ahead of that take a tenth of a
 * second where not all are read, and half of the time together.  Maps of the user whose
 * maps have taken the least time come first.  What there is no time for is read later, or
 * the user is told of (ow_file_lost()) when a name is not found.
 */
void ow_jitmaps_read(struct ow_jitmaps *j, bool all);

/*
 * Drop maps of processes that had ended by then (CLOCK_MONOTONIC, ns), of whose
 * code all is named.
 */
void ow_jitmaps_drop(struct ow_jitmaps *j, uint64_t time);

/* Return true if so many are of processes that have ended that it is time for it. */
bool ow_jitmaps_is_full(const struct ow_jitmaps *j);

/*
 * Name what process pid ran at a time (CLOCK_MONOTONIC, ns): function, offset
 * and module; false if its map doesn't tell.  A child that made no code of its own has
 * its parent's: parent is the process that had its code before, or pid.  Strings live as
 * long as j, but for ow_jitmaps_drop_names().
 */
bool ow_jitmaps_name(struct ow_jitmaps *j, pid_t pid, pid_t parent,
		     uint64_t time, const struct ow_frame *f,
		     struct ow_name *name);

/* Return true if names had no room since they were dropped last. */
bool ow_jitmaps_lacks_names(const struct ow_jitmaps *j);

/* Forget the names that were given: as many may be given again. */
void ow_jitmaps_drop_names(struct ow_jitmaps *j);

void ow_jitmaps_deinit(struct ow_jitmaps *j);

#endif /* OW_JITMAPS_H */
