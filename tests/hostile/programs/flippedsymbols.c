// SPDX-License-Identifier: BSD-2-Clause
/*
 * Waits in a library whose file it writes to without end: all symbols but the first one
 * are functions by turns.
 */
#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define REST 500 /* microseconds between two turns */

static void *call(void *function)
{
	((void (*)(void))function)();
	return NULL;
}

/* The file's bytes, which others see change. */
static char *map_shared(const char *path)
{
	int fd = open(path, O_RDWR);
	struct stat st;
	char *at;

	if (fd < 0 || fstat(fd, &st))
		exit(1);
	at = mmap(NULL, (size_t)st.st_size, PROT_READ | PROT_WRITE, MAP_SHARED,
		  fd, 0);
	if (at == MAP_FAILED)
		exit(1);
	return at;
}

static Elf64_Sym *find_symbols(char *file, size_t *nr)
{
	const Elf64_Ehdr *head = (void *)file;
	const Elf64_Shdr *sections = (void *)(file + head->e_shoff);

	for (int i = 0; i < head->e_shnum; i++)
		if (sections[i].sh_type == SHT_SYMTAB) {
			*nr = sections[i].sh_size / sizeof(Elf64_Sym);
			return (void *)(file + sections[i].sh_offset);
		}
	exit(1);
}

int main(int argc, char **argv)
{
	static const unsigned char types[] = { STT_FUNC, STT_OBJECT };
	volatile Elf64_Sym *symbols;
	pthread_t thread;
	void *library;
	size_t nr;

	if (argc < 2)
		return 1;
	library = dlopen(argv[1], RTLD_NOW);
	if (!library)
		return 1;
	symbols = find_symbols(map_shared(argv[1]), &nr);
	if (pthread_create(&thread, NULL, call,
			   dlsym(library, "wait_in_object")))
		return 1;
	puts("ready");
	fflush(stdout);
	for (unsigned int turn = 0;; turn++) {
		for (size_t i = 2; i < nr; i++)
			symbols[i].st_info =
				ELF64_ST_INFO(STB_GLOBAL, types[turn % 2]);
		usleep(REST);
	}
}
