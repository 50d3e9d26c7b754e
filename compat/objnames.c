// SPDX-License-Identifier: BSD-2-Clause
#include "objnames.h"

#include <libunwind.h>
#include <stdlib.h>

#include "funcnames.h"
#include "minidebug.h"
#include "object.h"

struct ow_objname {
	const struct ow_object *of;
	struct ow_object *inside; /* decompressed; NULL: of has none */
	struct ow_funcnames own, insides;
};

static struct ow_objname *known(const struct ow_objnames *n,
				const struct ow_object *obj)
{
	size_t i;

	for (i = 0; i < n->nr; i++)
		if (n->list[i].of == obj)
			return &n->list[i];
	return NULL;
}

static struct ow_objname *add(struct ow_objnames *n,
			      const struct ow_object *obj)
{
	struct ow_objname *list, *o;
	bool is_late = false; /* it isn't tried again */

	list = reallocarray(n->list, n->nr + 1, sizeof(*list));
	if (!list)
		return NULL;
	n->list = list;
	o = &list[n->nr++];
	*o = (struct ow_objname){ obj,
				  .inside = ow_minidebug_open(obj, &is_late) };
	ow_funcnames_init(&o->own, obj);
	if (o->inside)
		ow_funcnames_init(&o->insides, o->inside);
	return o;
}

int ow_objnames_find(struct ow_objnames *n, const struct ow_object *obj,
		     uint64_t vaddr, char *buf, size_t size, uint64_t *off_ret)
{
	uint64_t away = UINT64_MAX, nearer = UINT64_MAX;
	struct ow_objname *o = known(n, obj);
	char begin[1];
	int err;

	if (!o)
		o = add(n, obj);
	if (!o)
		return -UNW_ENOINFO;
	err = ow_funcnames_find(&o->own, vaddr, buf, size, &away);
	if (o->inside)
		ow_funcnames_find(&o->insides, vaddr, begin, sizeof(begin),
				  &nearer);
	if (nearer < away)
		err = ow_funcnames_find(&o->insides, vaddr, buf, size, &away);
	if (off_ret && err != -UNW_ENOINFO)
		*off_ret = away;
	return err;
}

void ow_objnames_clear(struct ow_objnames *n)
{
	struct ow_objname *o;

	for (o = n->list; o < n->list + n->nr; o++) {
		ow_funcnames_clear(&o->own);
		ow_funcnames_clear(&o->insides);
		ow_object_close(o->inside);
	}
	free(n->list);
	*n = (struct ow_objnames){ 0 };
}
