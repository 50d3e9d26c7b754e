// SPDX-License-Identifier: BSD-2-Clause
#include "missing.h"

#include <stdio.h>

#include <outwind/outwind.h>

#include "stackview.h"

static void put_line(const char *tool, const char *line, const char *ending)
{
	fflush(stdout);
	fprintf(stderr, "%s: ", tool);
	ow_view_put_clean(stderr, line);
	fprintf(stderr, "%s\n", ending);
}

bool missing_complain(const char *tool, bool is_told)
{
	const char *line;
	size_t i;

	for (i = 0; (line = ow_left_out(i)); i++)
		put_line(tool, line, "");
	for (i = 0; !is_told && (line = ow_file_lost(i)); i++)
		put_line(tool, line, ": what it had is missing");
	return ow_file_lost(0);
}
