// SPDX-License-Identifier: BSD-2-Clause
#include "namefit.h"

#include <stdlib.h>

#include "proftext.h"
#include "stackview.h"

uint64_t namefit_string(const struct namefit *n, uint32_t string)
{
	if (string == PROFILE_NONE)
		return 0;
	return n->sizes ? n->sizes[string] :
			  PROFTEXT_LONGER * profile_text_size(n->p, string);
}

uint64_t namefit_label(const struct namefit *n, const struct profile_frame *f)
{
	char buf[OW_VIEW_LABEL];

	if (f->function)
		return namefit_string(n, f->function);
	return n->sizes ? n->put(NULL, profile_label(n->p, f, buf)) :
			  PROFTEXT_LONGER * OW_VIEW_LABEL;
}

static struct textfit_item item_of(const void *of, size_t i)
{
	const struct namefit *n = of;

	return (struct textfit_item){ .size = n->size(n, i) };
}

/* Measure each string.  Return false when out of memory. */
static bool measure_strings(struct namefit *n)
{
	uint32_t nr = n->p->strings.nr, i;
	uint32_t *sizes = calloc((size_t)nr + 1, sizeof(*sizes));

	for (i = 0; sizes && i < nr; i++)
		sizes[i] = (uint32_t)n->put(NULL, profile_text(n->p, i));
	n->sizes = sizes;
	return sizes;
}

bool namefit_share(struct namefit *n, const struct profile_options *o)
{
	n->fit = (struct textfit){ .nr = n->nr, .of = n, .item = item_of };
	if (textfit_is_room(&n->fit, o))
		return true;
	return measure_strings(n) && textfit_share(&n->fit, o);
}

void namefit_deinit(struct namefit *n)
{
	free(n->sizes);
	n->sizes = NULL;
	textfit_deinit(&n->fit);
}
