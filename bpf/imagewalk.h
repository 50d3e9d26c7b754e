/* SPDX-License-Identifier: BSD-2-Clause */
/* Walking a copy of a stack by what a process had mapped, in user space. */
#ifndef OW_IMAGEWALK_H
#define OW_IMAGEWALK_H

#include "images.h"
#include "processmem.h"
#include "walk.h"

#define OW_LIVE_READ (64U << 10) /* bytes that are read in one go */

/* Of CPU time that one walk may load unwind information for; the next one goes on. */
#define OW_IMAGEWALK_LOAD_NS 50000000

/* Memory of a process that doesn't run now, of which the last piece read is kept. */
struct ow_livemem {
	struct ow_processmem mem;
	struct ow_patience patience; /* with all processes that are read so */
	uint64_t start, size;        /* of the piece */
	uint8_t bytes[OW_LIVE_READ];
};

/* What an image is to the engine. */
struct ow_imagewalk {
	struct ow_target target; /* first: reads find the rest by it */
	struct ow_sampledobjects *objects;
	const struct ow_bpf_range *ranges;
	struct ow_module *modules;
	struct ow_range *map;
	unsigned int nr_cut; /* ow_filemap_nr_cut() when it was looked at last */
	struct ow_window stack;  /* of the walk that is under way */
	struct ow_livemem *live; /* what else there is; or NULL */
	uint64_t cfi_left;       /* what CFI may still run in the walk */
	uint64_t late_ns; /* a module missed some of its unwind data then; 0: none does */
	uint64_t load_left; /* ns of OW_IMAGEWALK_LOAD_NS, until the last one is over */
};

/* Make one, of code of arch; NULL when out of memory. */
struct ow_imagewalk *ow_imagewalk_create(struct ow_images *im,
					 const struct ow_image *image,
					 const struct ow_arch *arch);
/*
 * A walk begins.  Return true if modules that missed some of their unwind data, for want of
 * time, are to be read again: what is known of frames may not be so any more.
 */
bool ow_imagewalk_begin(struct ow_imagewalk *w);

/*
 * Give up the objects whose files were cut off since the last call.  Return true
 * if there may be such: what was walked meanwhile is to be walked anew.
 */
bool ow_imagewalk_lose_cut(struct ow_imagewalk *w);

void ow_imagewalk_destroy(struct ow_imagewalk *w);

/*
 * Read the unwind data of one of its modules, which a walk wants.  Return false, and leave
 * it unread, where the walk has no time left for that.
 */
bool ow_imagewalk_ready(struct ow_imagewalk *w, const struct ow_module *wanted);

#endif /* OW_IMAGEWALK_H */
