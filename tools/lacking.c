// SPDX-License-Identifier: BSD-2-Clause
/* Which objects a file's stacks would have needed. */
#include <stdlib.h>
#include <string.h>

#include "commands.h"

/* A module that is lacking, by its number. */
struct lacking {
	size_t i;
	const char *path, *build_id;
};

static int lacking_order(const void *a, const void *b)
{
	const struct lacking *x = a, *y = b;
	int order = x->path == y->path ? 0 : strcmp(x->path, y->path);

	if (order == 0)
		order = strcmp(x->build_id, y->build_id);
	return order ? order : (x->i > y->i) - (x->i < y->i);
}

static int number_order(const void *a, const void *b)
{
	const struct lacking *x = a, *y = b;

	return (x->i > y->i) - (x->i < y->i);
}

static bool is_same(const struct lacking *x, const struct lacking *y)
{
	return strcmp(x->path, y->path) == 0 &&
	       strcmp(x->build_id, y->build_id) == 0;
}

/* A file is mapped in several places now and then: leave the first of them. */
static size_t drop_others(struct lacking *list, size_t nr)
{
	size_t i, kept = 0;

	qsort(list, nr, sizeof(*list), lacking_order);
	for (i = 0; i < nr; i++)
		if (kept == 0 || !is_same(&list[kept - 1], &list[i]))
			list[kept++] = list[i];
	qsort(list, kept, sizeof(*list), number_order);
	return kept;
}

void complain_of_lacking(const struct ow_capture *c)
{
	const size_t most = ow_capture_nr_modules(c);
	struct lacking *list = calloc(most + 1, sizeof(*list));
	struct ow_module_info m;
	struct ow_error why;
	size_t i, nr = 0;

	for (i = 0; list && i < most; i++)
		/* What stands in brackets, such as [vdso], is in no file that
		   anybody could give. */
		if (ow_capture_lacks(c, i, &m, &why) && m.path[0] != '[')
			list[nr++] = (struct lacking){ i, m.path, m.build_id };
	nr = nr ? drop_others(list, nr) : 0;
	for (i = 0; i < nr; i++)
		if (ow_capture_lacks(c, list[i].i, &m, &why))
			complain("lacks %s [%s]: %s", m.path,
				 m.build_id[0] ? m.build_id : "no build-id",
				 why.msg);
	free(list);
}
