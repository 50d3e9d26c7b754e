// SPDX-License-Identifier: BSD-2-Clause
#include "viewnames.h"

#include <stdlib.h>

#include "grow.h"

static bool reserve(struct viewnames *v, size_t used)
{
	return ow_grow(&v->list, &v->room, used + OW_VIEW_NAMES,
		       sizeof(*v->list));
}

bool viewnames_fill(struct viewnames *v, struct ow_symbolizer *symbolizer,
		    const struct ow_frame *frames, size_t nr,
		    struct ow_view_frame *views)
{
	size_t i, used = 0;

	for (i = 0; i < nr; i++) {
		views[i] = (struct ow_view_frame){ .frame = frames[i] };
		if (!symbolizer)
			continue;
		if (!reserve(v, used))
			return false;
		views[i].nr_names = ow_symbolizer_name(
			symbolizer, &frames[i], v->list + used, OW_VIEW_NAMES);
		if (v->text && views[i].nr_names)
			views[i].nr_names = viewtext_take(
				v->text, v->list + used, views[i].nr_names);
		used += views[i].nr_names;
	}
	/* The list may have moved while it grew. */
	for (used = 0, i = 0; i < nr; used += views[i++].nr_names)
		views[i].names = v->list ? v->list + used : NULL;
	return true;
}

void viewnames_free(struct viewnames *v)
{
	free(v->list);
	*v = (struct viewnames){ 0 };
}
