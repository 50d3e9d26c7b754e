// SPDX-License-Identifier: BSD-2-Clause
/*
 * Preloaded into a program that reads files: as soon as it has mapped the file
 * CUT_FILE, that is cut off at CUT_SIZE bytes, as the file's owner may do.
 */
#include <dlfcn.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static int is_the_file(int fd)
{
	const char *path = getenv("CUT_FILE");
	struct stat a, b;

	return path && fd >= 0 && !fstat(fd, &a) && !stat(path, &b) &&
	       a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

void *mmap(void *at, size_t size, int prot, int flags, int fd, off_t off)
{
	void *(*real)(void *, size_t, int, int, int, off_t) =
		dlsym(RTLD_NEXT, "mmap");
	void *ret = real(at, size, prot, flags, fd, off);

	if (ret != MAP_FAILED && is_the_file(fd) &&
	    truncate(getenv("CUT_FILE"), atol(getenv("CUT_SIZE"))))
		abort();
	return ret;
}

void *mmap64(void *at, size_t size, int prot, int flags, int fd, off_t off)
{
	return mmap(at, size, prot, flags, fd, off);
}
