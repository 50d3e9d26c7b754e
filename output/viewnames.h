/* SPDX-License-Identifier: BSD-2-Clause */
/* Names of a stack's frames, in room that is used again for the next one's. */
#ifndef VIEWNAMES_H
#define VIEWNAMES_H

#include "stackview.h"
#include "viewtext.h"

struct viewnames {
	struct ow_name *list; /* of all frames, one after another */
	size_t room;
	struct viewtext *text; /* what all may take; NULL: there is no limit */
};

/*
 * Fill views, of which there are nr, from frames; symbolizer NULL: without
 * names.  They are valid until the next call.  False when out of memory.
 */
bool viewnames_fill(struct viewnames *v, struct ow_symbolizer *symbolizer,
		    const struct ow_frame *frames, size_t nr,
		    struct ow_view_frame *views);

void viewnames_free(struct viewnames *v);

#endif /* VIEWNAMES_H */
