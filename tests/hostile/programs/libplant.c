// SPDX-License-Identifier: BSD-2-Clause
/*
 * Preloaded into a program that writes a file: as soon as the program has seen that
 * nothing is at PLANT, user 12345 puts a link there, which leads to PLANT_TARGET.
 */
#include <dlfcn.h>
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define OTHER 12345

/* By its last part, as it may be looked at in its folder. */
static void plant(const char *path)
{
	const char *link = getenv("PLANT"),
		   *name = link ? strrchr(link, '/') : NULL;
	const char *slash = strrchr(path, '/');
	int before = errno;

	if (!name || strcmp(slash ? slash + 1 : path, name + 1) != 0)
		return;
	if (!symlink(getenv("PLANT_TARGET"), link) &&
	    lchown(link, OTHER, OTHER))
		abort();
	errno = before;
}

int lstat(const char *path, struct stat *ret)
{
	int (*real)(const char *, struct stat *) = dlsym(RTLD_NEXT, "lstat");
	int failed = real(path, ret);

	plant(path);
	return failed;
}

int openat(int dir, const char *path, int flags, ...)
{
	int (*real)(int, const char *, int, ...) = dlsym(RTLD_NEXT, "openat");
	va_list more;
	mode_t mode;
	int fd;

	va_start(more, flags);
	mode = va_arg(more, mode_t);
	va_end(more);
	fd = real(dir, path, flags, mode);
	plant(path);
	return fd;
}
