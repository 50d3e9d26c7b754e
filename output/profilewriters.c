// SPDX-License-Identifier: BSD-2-Clause
#include "profile.h"

#include <string.h>

static const struct profile_writer *const writers[] = {
	&profile_folded, &profile_pprof, &profile_speedscope,
	&profile_perf,   &profile_json,  &profile_html,
	&profile_svg,    &profile_own,   &profile_table,
};

#define NR_WRITERS (sizeof(writers) / sizeof(writers[0]))

const struct profile_writer *profile_writer_find(const char *name)
{
	size_t i;

	for (i = 0; i < NR_WRITERS; i++)
		if (strcmp(writers[i]->name, name) == 0)
			return writers[i];
	return NULL;
}

const struct profile_writer *profile_writer_of(const char *path)
{
	const struct profile_writer *best = NULL;
	size_t i, n, size = strlen(path);

	for (i = 0; i < NR_WRITERS; i++) {
		n = writers[i]->suffix ? strlen(writers[i]->suffix) : 0;
		if (n && n < size &&
		    strcmp(path + size - n, writers[i]->suffix) == 0 &&
		    (!best || n > strlen(best->suffix)))
			best = writers[i];
	}
	return best;
}

void profile_writer_list(char *buf, size_t size)
{
	size_t i, used = 0;

	for (i = 0; i < NR_WRITERS && used < size; i++)
		used += (size_t)snprintf(buf + used, size - used, "%s%s",
					 i ? ", " : "", writers[i]->name);
}
