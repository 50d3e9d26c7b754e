// SPDX-License-Identifier: BSD-2-Clause
#include <string.h>
#include <sys/stat.h>

#include "ctfreader.h"

bool ctf_is_live(const char *path)
{
	return strncmp(path, "net://", 6) == 0 ||
	       strncmp(path, "net4://", 7) == 0;
}

bool ctf_is_trace(const char *path)
{
	struct stat st;

	return ctf_is_live(path) ||
	       (stat(path, &st) == 0 && S_ISDIR(st.st_mode));
}
