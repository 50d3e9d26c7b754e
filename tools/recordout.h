/* SPDX-License-Identifier: BSD-2-Clause */
/* Samples with names, written or counted. */
#ifndef OW_RECORDOUT_H
#define OW_RECORDOUT_H

#include "profile.h"
#include "viewnames.h"

#include "sampler.h"

struct recordout {
	FILE *out;
	const struct ow_view_writer *writer; /* of each sample; or NULL: */
	const struct profile_writer *profile_writer; /* of all together */
	const char *title;
	unsigned int frequency;
	unsigned int showing; /* enum ow_view_flags */
	size_t max_frames;
	size_t profile_memory;            /* bytes that the profile may take */
	struct ow_symbolizer *symbolizer; /* or NULL: no names */

	struct ow_frame *frames; /* of one stack */
	struct ow_view_frame *views;
	struct viewnames names;
	struct viewtext text; /* of all names that writer has written */
	struct profile profile;
	uint64_t folded; /* samples for whose stacks it has no room */
	uint32_t *ids;   /* of the frames of one stack in it */
	size_t room_ids;
	uint64_t nr_stacks, nr_whole;
	bool no_memory;
};

/* Fill the upper half before; false when out of memory. */
bool recordout_begin(struct recordout *o);

/* Walk all threads of a sample and write them; false: it makes no sense to go
   on, as there is no memory or nowhere to write. */
bool recordout_take(struct recordout *o, const struct sample *s);

/* Write what is left.  Return EXIT_WELL; or another one, with a complaint. */
int recordout_end(struct recordout *o);
void recordout_free(struct recordout *o);

#endif /* OW_RECORDOUT_H */
