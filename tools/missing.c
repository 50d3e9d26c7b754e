// SPDX-License-Identifier: BSD-2-Clause
#include "missing.h"

#include <stdio.h>

#include <outwind/outwind.h>

#include "stackview.h"

#define MOST_LINES 8 /* of a kind: the others are only counted */

static void put_line(const char *tool, const char *line, const char *ending)
{
	fflush(stdout);
	fprintf(stderr, "%s: ", tool);
	ow_view_put_clean(stderr, line);
	fprintf(stderr, "%s\n", ending);
}

/* So many lines of a kind are not shown. */
static void put_more(const char *tool, size_t nr, const char *what)
{
	if (nr <= MOST_LINES)
		return;
	fprintf(stderr, "%s: and %s%zu more %s\n", tool,
		nr == OW_MOST_COUNTED ? "at least " : "", nr - MOST_LINES,
		what);
}

bool missing_complain(const char *tool, bool is_told)
{
	const char *line;
	size_t i;

	for (i = 0; i < MOST_LINES && (line = ow_left_out(i)); i++)
		put_line(tool, line, "");
	put_more(tool, ow_nr_left_out(), "left out");
	if (is_told)
		return ow_file_lost(0);
	for (i = 0; i < MOST_LINES && (line = ow_file_lost(i)); i++)
		put_line(tool, line, ": what it had is missing");
	put_more(tool, ow_nr_files_lost(), "files: what they had is missing");
	return ow_file_lost(0);
}
