// SPDX-License-Identifier: BSD-2-Clause
#include "splitfiles.h"

#include <stdlib.h>

#include "filemap.h"
#include "grow.h"

static bool is_known(const struct ow_splitfiles *s, const void *bytes)
{
	size_t i;

	for (i = 0; i < s->nr; i++)
		if (ow_filemap_has(s->list[i], bytes))
			return true;
	return false;
}

bool ow_splitfiles_add(struct ow_splitfiles *s, Dwarf_Die *unit,
		       const char *path)
{
	Elf *elf = dwarf_getelf(dwarf_cu_getdwarf(unit->cu));
	size_t size = 0;
	const void *bytes = elf ? elf_rawfile(elf, &size) : NULL;
	struct ow_filemap *map;

	if (!bytes || size == 0)
		return false;
	if (is_known(s, bytes))
		return true;
	if (!ow_grow(&s->list, &s->room, s->nr + 1, sizeof(*s->list)))
		return false;
	map = ow_filemap_adopt(bytes, size, path);
	if (!map)
		return false;
	s->list[s->nr++] = map;
	return true;
}

bool ow_splitfiles_are_cut(const struct ow_splitfiles *s)
{
	size_t i;

	for (i = 0; i < s->nr; i++)
		if (ow_filemap_is_cut(s->list[i]))
			return true;
	return false;
}

void ow_splitfiles_deinit(struct ow_splitfiles *s)
{
	while (s->nr)
		ow_filemap_close(s->list[--s->nr]);
	free(s->list);
	*s = (struct ow_splitfiles){ 0 };
}
