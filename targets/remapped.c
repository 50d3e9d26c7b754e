// SPDX-License-Identifier: BSD-2-Clause
#include "remapped.h"

#include <string.h>

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

/* What [start, end) was, if what is mapped below and above tells. */
static bool former(struct ow_mappings *maps, uint64_t start, uint64_t end,
		   struct ow_mapping *ret)
{
	const struct ow_mapping *m = ow_mappings_from(maps, start - 1);
	struct ow_mapping above;

	if (!m || m->end != start || !ow_identity_is_file(m->dev, m->inode))
		return false;
	*ret = *m;
	m = ow_mappings_from(maps, end);
	if (!m || m->start != end || m->dev != ret->dev ||
	    m->inode != ret->inode ||
	    !ow_remapped_between(ret->start, ret->off, m->start, m->off))
		return false;
	above = *m;
	if (!ow_mappings_name(maps, ret) || !ow_mappings_name(maps, &above) ||
	    strcmp(above.path, ret->path) != 0)
		return false;
	ret->off += start - ret->start;
	return true;
}

/* The listed mapping takes the file's name and numbers. */
static void rename_to(struct ow_mapping *m, const struct ow_mapping *file)
{
	m->own_dev = m->dev;
	m->own_inode = m->inode;
	m->path = file->path;
	m->off = file->off;
	m->dev = file->dev;
	m->inode = file->inode;
	m->deleted = file->deleted;
	m->is_remapped = true;
}

static void mark_around(struct ow_mappings *maps, size_t i)
{
	if (i > 0)
		maps->list[i - 1].is_around = true;
	if (i + 1 < maps->nr)
		maps->list[i + 1].is_around = true;
}

void ow_remapped_settle(struct ow_mappings *maps)
{
	struct ow_mapping file;
	uint64_t start;
	size_t i;

	for (i = 0; i < maps->nr; i++) {
		if (!is_own_code(&maps->list[i]))
			continue;
		start = maps->list[i].start;
		if (!former(maps, start, maps->list[i].end, &file))
			continue;
		/* Meanwhile what is below may be listed in front of it. */
		while (i < maps->nr && maps->list[i].start < start)
			i++;
		if (i == maps->nr || maps->list[i].start != start)
			continue;
		rename_to(&maps->list[i], &file);
		mark_around(maps, i);
	}
}
