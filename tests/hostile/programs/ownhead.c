// SPDX-License-Identifier: BSD-2-Clause
/*
 * Calls a library's paused_outer(), and before that, if told to, writes to its own copy
 * of the library's ELF header.  ownhead LIBRARY [spoil].
 */
#include <dlfcn.h>
#include <link.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/mman.h>

static int spoil(void *lib)
{
	struct link_map *map;
	ElfW(Ehdr) * head;

	if (dlinfo(lib, RTLD_DI_LINKMAP, &map))
		return -1;
	head = (void *)map->l_addr;
	if (mprotect(head, 4096, PROT_READ | PROT_WRITE))
		return -1;
	head->e_phoff ^= 0x40;
	return 0;
}

int main(int argc, char **argv)
{
	void *lib = argc > 1 ? dlopen(argv[1], RTLD_NOW) : NULL;
	int (*outer)(int) = lib ? dlsym(lib, "paused_outer") : NULL;

	if (!outer || (argc > 2 && spoil(lib))) {
		fputs("ownhead: it can't be loaded, or changed\n", stderr);
		return 1;
	}
	return outer(argc) + 1;
}
