/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Which frames of a profile a place has, which is an address in what a process has
 * mapped: stacks without end can have few different places.
 */
#ifndef OW_KNOWNPLACES_H
#define OW_KNOWNPLACES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct knownplace {
	uint64_t frame; /* as a recorder packs it, or an offset in an object */
	uint32_t image; /* of the recorder; 0: the kernel's; or an object's number */
	uint32_t uid; /* whose stacks have it: others may have other names; or of a
			   trace's, enum ow_frame_flags */
	uint64_t is_placed; /* it has no names, for want of time */
};

struct knownplaces_entry;

/* All zero is empty. */
struct knownplaces {
	struct knownplaces_entry *entries; /* hashed, at most half full */
	size_t nr, room;
	uint32_t *ids; /* of all entries */
	size_t nr_ids, room_ids;
};

/* The numbers of a place's frames, or NULL; they may move at the next call. */
const uint32_t *knownplaces_find(const struct knownplaces *k,
				 const struct knownplace *place,
				 size_t *nr_ret);

/*
 * Know the frames of a place that isn't known.  Where there are too many places, or
 * there is no memory, others are forgotten, or this one is.
 */
void knownplaces_put(struct knownplaces *k, const struct knownplace *place,
		     const uint32_t *ids, size_t nr);

void knownplaces_deinit(struct knownplaces *k);

#endif /* OW_KNOWNPLACES_H */
