// SPDX-License-Identifier: BSD-2-Clause
#include "profnames.h"

#include <stdlib.h>

#include "stackview.h"

bool profnames_init(struct profnames *n, const struct profile *from,
		    struct profile *to,
		    uint32_t (*make)(struct profile *to, const char *text))
{
	*n = (struct profnames){ .from = from, .to = to, .make = make };
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

uint32_t profnames_label(struct profnames *n, const struct profile_frame *f)
{
	char buf[OW_VIEW_LABEL];

	if (f->function)
		return profnames_of(n, f->function);
	return n->make(n->to, profile_label(n->from, f, buf));
}
