/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Two files' code by turns at one place: replaced.c FILE FILE [unmap].  Each
 * calls back a function of its own, so that a test knows whose turn it is.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define NOINLINE __attribute__((noinline, noclone))
#define PLACE    ((char *)0x200000000000)

typedef int turner(int (*work)(void));

struct file {
	const char *path;
	int fd;
	size_t size, at; /* of its code, and of turn() in that */
	off_t off;
	const char *code;
};

static volatile unsigned long sink;

static int note_code(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct file *f = arg;
	int i;

	(void)size;
	for (i = 0; i < info->dlpi_phnum; i++)
		if (info->dlpi_phdr[i].p_type == PT_LOAD &&
		    info->dlpi_phdr[i].p_flags & PF_X &&
		    strcmp(info->dlpi_name, f->path) == 0) {
			f->off = (off_t)info->dlpi_phdr[i].p_offset;
			f->size = info->dlpi_phdr[i].p_memsz;
			f->code = (const char *)info->dlpi_addr +
				  info->dlpi_phdr[i].p_vaddr;
		}
	return 0;
}

static void open_file(struct file *f, const char *path)
{
	void *lib = dlopen(path, RTLD_NOW);

	f->path = path;
	f->fd = open(path, O_RDONLY);
	dl_iterate_phdr(note_code, f);
	if (!lib || f->fd < 0 || !f->code)
		exit(1);
	f->at = (size_t)((const char *)dlsym(lib, "turn") - f->code);
	dlclose(lib);
}

static turner *place(const struct file *f, int unmap)
{
	if (unmap)
		munmap(PLACE, f->size);
	if (mmap(PLACE, f->size, PROT_READ | PROT_EXEC,
		 MAP_PRIVATE | (unmap ? 0 : MAP_FIXED), f->fd,
		 f->off) != PLACE)
		exit(2);
	return (turner *)(void *)(PLACE + f->at);
}

static NOINLINE int work_small(void)
{
	int i;

	for (i = 0; i < 1000000; i++)
		sink += (unsigned long)i;
	return (int)sink;
}

static NOINLINE int work_large(void)
{
	int i;

	for (i = 0; i < 1000000; i++)
		sink -= (unsigned long)i;
	return (int)sink;
}

int main(int argc, char **argv)
{
	struct file small, large;
	int unmap = argc > 3;

	open_file(&small, argv[1]);
	open_file(&large, argv[2]);
	puts("ready");
	fflush(stdout);
	for (;;) {
		sink += (unsigned long)place(&small, unmap)(work_small);
		sink += (unsigned long)place(&large, unmap)(work_large);
	}
}
