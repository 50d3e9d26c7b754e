// SPDX-License-Identifier: BSD-2-Clause
/*
 * markedstack LEVELS STACKED DIR: wait in a stack of words that look like signal frames,
 * each of a stack in a hole; above the hole a file is mapped whose name takes the kernel
 * long to make, as so many mounts lie on each of so many folders above it.
 */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <unistd.h>

#include "ownspace.h"
#include "ownstack.h"

#define HOLE  (8UL << 20)
#define STACK (1UL << 20)
#define MARK  0x33UL /* %cs of 64-bit code, where signal frames have it */

/* Map a file above a hole; return where the hole is. */
static char *make_hole(void)
{
	char *hole = get_memory(HOLE + PAGE, PROT_NONE);
	int fd = open("f", O_CREAT | O_RDWR, 0755);

	if (fd < 0 || ftruncate(fd, (off_t)PAGE) || munmap(hole, HOLE + PAGE) ||
	    mmap(hole + HOLE, PAGE, PROT_READ, MAP_PRIVATE | MAP_FIXED, fd,
		 0) == MAP_FAILED)
		fail("file");
	return hole;
}

int main(int argc, char **argv)
{
	uint64_t *words, word;
	void *code;
	size_t i;

	if (argc < 4)
		return 1;
	enter_namespaces();
	if (mount("t", argv[3], "tmpfs", 0, NULL) || chdir(argv[3]))
		fail("tmpfs");
	stack_mounts(atol(argv[1]), atol(argv[2]));
	/* Nothing that is mapped later may come into the hole. */
	words = get_memory(STACK, PROT_READ | PROT_WRITE);
	code = make_code();
	word = ((uintptr_t)make_hole() + HOLE / 2) & ~0xffffUL;
	for (i = 0; i < STACK / sizeof(*words); i++)
		words[i] = word | MARK;
	wait_in(words + STACK / 2 / sizeof(*words), code);
}
