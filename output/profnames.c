// SPDX-License-Identifier: BSD-2-Clause
#include "profnames.h"

#include <stdlib.h>
#include <string.h>

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
}

uint32_t profnames_of(struct profnames *n, uint32_t string)
{
	uint32_t *known = &n->known[string];

	if (!*known)
		*known = n->make(n->to, profile_text(n->from, string)) + 1;
	return *known - 1;
}

/* Return true if the label of a function without a name fits in, and take its bytes. */
static bool take_label(struct profnames *n, const char *label)
{
	size_t size = strlen(label) + 1;

	if (size > PROFILE_MOST_LABELS - n->labels) {
		if (n->nr_coarse_ret)
			++*n->nr_coarse_ret;
		return false;
	}
	n->labels += size;
	return true;
}

uint32_t profnames_label(struct profnames *n, const struct profile_frame *f)
{
	struct profile_frame coarse = *f;
	char buf[OW_VIEW_LABEL];
	const char *label;

	if (f->function)
		return profnames_of(n, f->function);
	label = profile_label(n->from, f, buf);
	if (f->has_start && f->module && !take_label(n, label)) {
		coarse.has_start = 0;
		label = profile_label(n->from, &coarse, buf);
	}
	return n->make(n->to, label);
}
