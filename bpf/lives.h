/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the kernel tells of processes' lives, through perf events: forks, execs,
 * mappings with code, ends.
 */
#ifndef OW_LIVES_H
#define OW_LIVES_H

#include "bytebuf.h"
#include "images.h"
#include "perfring.h"

struct ow_life; /* one such event */

struct ow_lives {
	struct ow_perfrings rings;
	struct ow_life *events; /* read, but not applied yet */
	size_t nr, room;
	struct ow_bytebuf paths; /* of mappings among them */
	bool lost;               /* there was no room for all */
};

/* Have it told at once, or lazily: when much has come. */
int ow_lives_open(struct ow_lives *l, bool lazily, struct ow_error *err);
void ow_lives_close(struct ow_lives *l);

/*
 * Apply what has happened, in its order, to the images of those whom is_wanted()
 * tells; changed() hears of each whose mappings aren't what they were, or that has
 * ended.  False if not all of it was told.
 */
bool ow_lives_apply(struct ow_lives *l, struct ow_images *images,
		    bool (*is_wanted)(void *arg, pid_t pid),
		    void (*changed)(void *arg, pid_t pid), void *arg);

#endif /* OW_LIVES_H */
