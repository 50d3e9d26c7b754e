// SPDX-License-Identifier: BSD-2-Clause
#include "ownpath.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "error.h"

/* In a folder with the sticky bit nobody renames or removes what is others'. */
static bool is_own(const char *path, struct stat *st)
{
	if (lstat(path, st) || (st->st_uid != 0 && st->st_uid != geteuid()))
		return false;
	return !(st->st_mode & (S_IWGRP | S_IWOTH)) ||
	       (S_ISDIR(st->st_mode) && (st->st_mode & S_ISVTX));
}

bool ow_path_is_own(const char *path)
{
	_cleanup_(ow_freep) char *copy = strdup(path);
	struct stat st;
	char *at;

	if (!copy || path[0] != '/' || !is_own("/", &st))
		return false;
	for (at = strchr(copy + 1, '/'); at; at = strchr(at + 1, '/')) {
		*at = '\0';
		if (!is_own(copy, &st) || !S_ISDIR(st.st_mode))
			return false;
		*at = '/';
	}
	return is_own(copy, &st) && S_ISREG(st.st_mode);
}
