// SPDX-License-Identifier: BSD-2-Clause
/* Which objects a file's stacks would have needed. */
#include <string.h>

#include "commands.h"

/* A file is mapped in several places now and then. */
static bool was_told(const struct ow_capture *c, size_t i,
		     const struct ow_module_info *m)
{
	struct ow_module_info other;
	struct ow_error why;
	size_t k;

	for (k = 0; k < i; k++)
		if (ow_capture_lacks(c, k, &other, &why) &&
		    strcmp(other.path, m->path) == 0 &&
		    strcmp(other.build_id, m->build_id) == 0)
			return true;
	return false;
}

void complain_of_lacking(const struct ow_capture *c)
{
	struct ow_module_info m;
	struct ow_error why;
	size_t i;

	for (i = 0; i < ow_capture_nr_modules(c); i++)
		/* What stands in brackets, such as [vdso], is in no file that
		   anybody could give. */
		if (ow_capture_lacks(c, i, &m, &why) && m.path[0] != '[' &&
		    !was_told(c, i, &m))
			complain("lacks %s [%s]: %s", m.path,
				 m.build_id[0] ? m.build_id : "no build-id",
				 why.msg);
}
