// SPDX-License-Identifier: BSD-2-Clause
/*
 * overlaidholes NR MIB DIR [data]: in namespaces of its own, below DIR, an overlay of so many
 * files of that size that are holes after an ELF header, or have a byte of data in each MiB;
 * each has code mapped, and a frame of one stack.  What lies on an overlay of a user's own
 * can only be copied.
 */
#include <elf.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ownspace.h"
#include "ownstack.h"

static void enter(const char *dir)
{
	if (chdir(dir))
		fail(dir);
}

static void make_file(const char *name, off_t mib, bool with_data)
{
	int fd = open(name, O_WRONLY | O_CREAT, 0755);
	off_t i;

	if (fd < 0 || write(fd, ELFMAG, SELFMAG) != SELFMAG ||
	    ftruncate(fd, mib << 20))
		fail(name);
	for (i = 1; with_data && i < mib; i++)
		if (pwrite(fd, "", 1, i << 20) != 1)
			fail(name);
	close(fd);
}

/* Have code of the file at addr. */
static void map_file(const char *name, char *addr)
{
	int fd = open(name, O_RDONLY);

	if (fd < 0 || mmap(addr, PAGE, PROT_READ | PROT_EXEC,
			   MAP_PRIVATE | MAP_FIXED, fd, 0) == MAP_FAILED)
		fail(name);
	close(fd);
}

int main(int argc, char **argv)
{
	long nr = argc > 3 ? atol(argv[1]) : 0, i;
	long *st = get_memory((size_t)(nr * 16 + PAGE), PROT_READ | PROT_WRITE);
	char *code = get_memory((size_t)((2 * nr + 1) * PAGE), PROT_NONE);
	char name[32];

	if (nr < 1)
		return 1;
	enter_namespaces();
	if (mount("t", argv[3], "tmpfs", 0, NULL))
		fail("tmpfs");
	enter(argv[3]);
	if (mkdir("l", 0755) || mkdir("u", 0755) || mkdir("w", 0755) ||
	    mkdir("m", 0755))
		fail("mkdir");
	for (i = 0; i < nr; i++) {
		snprintf(name, sizeof(name), "l/%ld", i);
		make_file(name, atol(argv[2]), argc > 4);
	}
	if (mount("o", "m", "overlay", 0,
		  "lowerdir=l,upperdir=u,workdir=w,userxattr"))
		fail("overlay");
	for (i = 0; i < nr; i++) {
		snprintf(name, sizeof(name), "m/%ld", i);
		map_file(name, code + 2 * i * PAGE);
		st[2 * i] = i + 1 < nr ? (long)&st[2 * i + 2] : 0;
		st[2 * i + 1] = (long)(code + 2 * i * PAGE + 64);
	}
	wait_in(st, make_code());
}
