// SPDX-License-Identifier: BSD-2-Clause
#include "cutfiles.h"

#include <stdio.h>

#include <outwind/outwind.h>

#include "stackview.h"

bool cutfiles_complain(const char *tool)
{
	const char *name;
	size_t i;

	if (!ow_file_lost(0))
		return false;
	fflush(stdout);
	for (i = 0; (name = ow_file_lost(i)); i++) {
		fprintf(stderr, "%s: ", tool);
		ow_view_put_clean(stderr, name);
		fputs(": what it had is missing\n", stderr);
	}
	return true;
}
