/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the kernel tells of processes' lives, through perf events: forks, execs,
 * mappings with code, ends.
 */
#ifndef OW_LIVES_H
#define OW_LIVES_H

#include "images.h"
#include "perfring.h"

/* One such event. */
struct ow_life {
	uint32_t type; /* PERF_RECORD_... */
	pid_t pid, parent;
	uint64_t time;
	struct ow_mapping map; /* its path is the record's */
};

/* What a record tells of a process' life; false if it tells nothing of that. */
bool ow_life_read(const struct perf_event_header *h, struct ow_life *ret);

/* The process whose image it is told by: a child's is its parent's. */
pid_t ow_life_source(const struct ow_life *e);

/*
 * Who begins has a number that nobody else has any more.  Return true if somebody was
 * known by it, and has ended.
 */
bool ow_life_ends_another(const struct ow_life *e, struct ow_images *images);

/* Return true if the process' present image may be another one by that. */
bool ow_life_apply(const struct ow_life *e, struct ow_images *images);

struct ow_lives {
	struct ow_perfrings rings;
	uint64_t nr_lost; /* events that there was no room for */
};

/* Have it told at once, or lazily: when much has come. */
int ow_lives_open(struct ow_lives *l, bool lazily, struct ow_error *err);
void ow_lives_close(struct ow_lives *l);

/*
 * Apply what has happened, in its order, to the images of those whom is_wanted()
 * tells, at the time at which it happened; changed() hears of each whose mappings aren't what they were, or that has
 * ended.  False if not all of it was told.
 */
bool ow_lives_apply(struct ow_lives *l, struct ow_images *images,
		    bool (*is_wanted)(void *arg, pid_t pid, uint64_t time),
		    void (*changed)(void *arg, pid_t pid), void *arg);

#endif /* OW_LIVES_H */
