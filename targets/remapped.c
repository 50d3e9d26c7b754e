// SPDX-License-Identifier: BSD-2-Clause
#include "remapped.h"

#include <stdlib.h>
#include <string.h>

#include "grow.h"
#include "identity.h"
#include "mappings.h"

/* May a program have copied code to it?  (Not the vDSO, nor x86's [vsyscall].) */
static bool is_own_code(const struct ow_mapping *m)
{
	if (!m->executable || m->start == 0)
		return false;
	return m->path[0] == '\0' || strncmp(m->path, "[anon:", 6) == 0 ||
	       (m->deleted && strcmp(m->path, "/anon_hugepage") == 0);
}

/* What is around such code. */
struct around {
	struct ow_mapping *list;
	size_t nr, room;
};

static bool note_around(struct around *a, const struct ow_mapping *below,
			const struct ow_mapping *above)
{
	if (!ow_grow(&a->list, &a->room, a->nr + 2, sizeof(*a->list)))
		return false;
	a->list[a->nr++] = *below;
	a->list[a->nr++] = *above;
	return true;
}

/* Return true if below and above are parts of one file around [start, end). */
static bool is_between(struct ow_mappings *maps, uint64_t start, uint64_t end,
		       struct ow_mapping *below, struct ow_mapping *above)
{
	if (!ow_mappings_peek(maps, start - 1, below) || below->end != start ||
	    !ow_identity_is_file(below->dev, below->inode))
		return false;
	if (!ow_mappings_peek(maps, end, above) || above->start != end ||
	    above->dev != below->dev || above->inode != below->inode ||
	    !ow_remapped_between(below->start, below->off, above->start,
				 above->off))
		return false;
	return ow_mappings_name(maps, below) && ow_mappings_name(maps, above) &&
	       strcmp(above->path, below->path) == 0;
}

/* The listed mapping takes the numbers and the name of the file that is below it. */
static void rename_to(struct ow_mapping *m, const struct ow_mapping *below)
{
	m->own_dev = m->dev;
	m->own_inode = m->inode;
	m->path = below->path;
	m->off = below->off + (m->start - below->start);
	m->dev = below->dev;
	m->inode = below->inode;
	m->deleted = below->deleted;
	m->is_remapped = true;
}

void ow_remapped_settle(struct ow_mappings *maps)
{
	struct ow_mapping below, above, *m;
	struct around a = { .nr = 0 };
	size_t i;

	for (i = 0; i < maps->nr; i++) {
		m = &maps->list[i];
		if (is_own_code(m) &&
		    is_between(maps, m->start, m->end, &below, &above) &&
		    note_around(&a, &below, &above))
			rename_to(m, &below);
	}
	/* Without memory for them, they are not compared (ow_mappings_is_current()). */
	ow_mappings_add_around(maps, a.list, a.nr);
	free(a.list);
}
