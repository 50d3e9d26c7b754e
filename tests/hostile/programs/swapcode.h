/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Two pages of code of the program's file, to be mapped in turns at one address.
 * Where one page has a function that runs, the other has one that never does.
 */
#ifndef SWAPCODE_H
#define SWAPCODE_H

#include <fcntl.h>
#include <link.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>

#define PAGE 4096
#define HALF 2048
#define AT   ((uint8_t *)0x70000000)

#define IN(name, size) \
	__attribute__((section(name), aligned(size), noinline, noclone, used))

struct place {
	uintptr_t addr;
	off_t off;
};

/* Where in the file code is. */
static int find_place(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct place *place = arg;
	const ElfW(Phdr) * p;
	uintptr_t start;

	(void)size;
	for (p = info->dlpi_phdr; p < info->dlpi_phdr + info->dlpi_phnum; p++) {
		start = info->dlpi_addr + p->p_vaddr;
		if (p->p_type == PT_LOAD && place->addr >= start &&
		    place->addr - start < p->p_filesz) {
			place->off = (off_t)(p->p_offset + place->addr - start);
			return 1;
		}
	}
	return 0;
}

/* Have that page of code at an address, in place of what is there. */
static void map_page_at(int fd, uint8_t *at, const void *page)
{
	struct place place = { .addr = (uintptr_t)page };

	if (!dl_iterate_phdr(find_place, &place) ||
	    mmap(at, PAGE, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_FIXED, fd,
		 place.off) != at)
		exit(1);
}

static void map_page(int fd, const void *page)
{
	map_page_at(fd, AT, page);
}

#endif /* SWAPCODE_H */
