// SPDX-License-Identifier: BSD-2-Clause
#include "profnames.h"

#include <stdlib.h>

#include "stackview.h"

bool profnames_init(struct profnames *n, const struct profile *from,
		    struct profile *to,
		    uint32_t (*make)(struct profile *to, const char *text),
		    const struct profile_options *o)
{
	*n = (struct profnames){
		.from = from,
		.to = to,
		.make = make,
		.nr_coarse_ret = o ? o->nr_coarse_ret : NULL,
	};
	n->known = calloc((size_t)from->strings.nr + 1, sizeof(*n->known));
	return n->known;
}

void profnames_deinit(struct profnames *n)
{
	free(n->known);
	n->known = NULL;
	proflabels_deinit(&n->labels);
}

uint32_t profnames_of(struct profnames *n, uint32_t string)
{
	uint32_t *known = &n->known[string];

	if (!*known)
		*known = n->make(n->to, profile_text(n->from, string)) + 1;
	return *known - 1;
}

/* Return true if a function without a name gets a label of its own. */
static bool has_label(struct profnames *n, const struct profile_frame *f)
{
	uint32_t frame = (uint32_t)(f - n->from->frames);

	if (!n->has_shared &&
	    !proflabels_share(&n->labels, n->from, n->nr_coarse_ret))
		n->to->failed = true;
	n->has_shared = true;
	return proflabels_has(&n->labels, frame);
}

uint32_t profnames_label(struct profnames *n, const struct profile_frame *f)
{
	struct profile_frame coarse = *f;
	char buf[OW_VIEW_LABEL];

	if (f->function)
		return profnames_of(n, f->function);
	if (f->has_start && f->module && !has_label(n, f))
		coarse.has_start = 0;
	return n->make(n->to, profile_label(n->from, &coarse, buf));
}
