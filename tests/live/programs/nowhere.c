/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Touches memory for the first time, page by page, by a function that would
 * return to where no code is: nowhere.c PAGES.
 */
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#define PAGE  4096
#define PAUSE 50 /* pages: whoever listens is given time to do so */

static volatile char *memory;
static size_t pages;

__attribute__((noreturn, used)) static void touch(void)
{
	size_t i;

	for (i = 0; i < pages; i++) {
		memory[i * PAGE] = 1;
		if (i % PAUSE == 0)
			usleep(500);
	}
	_exit(0);
}

int main(int argc, char **argv)
{
	void *at;

	if (argc < 2)
		return 2;
	pages = strtoul(argv[1], NULL, 10);
	at = mmap(NULL, pages * PAGE, PROT_READ | PROT_WRITE,
		  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (at == MAP_FAILED)
		return 1;
	memory = at;
	madvise(at, pages * PAGE, MADV_NOHUGEPAGE);
	__asm__ volatile("andq $-16, %rsp\n"
			 "pushq $0x1234\n"
			 "jmp touch");
	__builtin_unreachable();
}
