// SPDX-License-Identifier: BSD-2-Clause
#include "mininames.h"

#include <libunwind.h>
#include <stdlib.h>

#include "minidebug.h"
#include "object.h"
#include "procname.h"

struct ow_mini {
	const struct ow_object *of;
	struct ow_object *inside; /* NULL: of has none */
};

static const struct ow_mini *known(const struct ow_mininames *m,
				   const struct ow_object *obj)
{
	size_t i;

	for (i = 0; i < m->nr; i++)
		if (m->list[i].of == obj)
			return &m->list[i];
	return NULL;
}

static const struct ow_mini *add(struct ow_mininames *m,
				 const struct ow_object *obj)
{
	struct ow_mini *list;

	list = reallocarray(m->list, m->nr + 1, sizeof(*list));
	if (!list)
		return NULL;
	m->list = list;
	list[m->nr] = (struct ow_mini){ obj, ow_minidebug_open(obj) };
	return &list[m->nr++];
}

int ow_mininames_find(struct ow_mininames *m, const struct ow_object *obj,
		      uint64_t vaddr, char *buf, size_t size, uint64_t *off_ret)
{
	const struct ow_mini *mini = known(m, obj);

	if (!mini)
		mini = add(m, obj);
	if (!mini || !mini->inside)
		return -UNW_ENOINFO;
	return ow_procname_in(&mini->inside->elf, vaddr, buf, size, off_ret);
}

void ow_mininames_clear(struct ow_mininames *m)
{
	size_t i;

	for (i = 0; i < m->nr; i++)
		if (m->list[i].inside)
			ow_object_close(m->list[i].inside);
	free(m->list);
	*m = (struct ow_mininames){ 0 };
}
