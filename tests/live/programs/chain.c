/* SPDX-License-Identifier: BSD-2-Clause */
/* Twelve calls, each with a frame of another size. */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "stay.h"

#ifndef ALIGNED
#define ALIGNED 16
#endif

#define LINK(n, next)                                                  \
	NOINLINE __attribute__((aligned(ALIGNED))) int link##n(int x)  \
	{                                                              \
		volatile char room[16 * (n) + 8];                      \
		int y;                                                 \
								       \
		room[n] = (char)x;                                     \
		y = next(x + n);                                       \
		return y + room[n] + x;                                \
	}

LINK(12, stay)
LINK(11, link12)
LINK(10, link11)
LINK(9, link10)
LINK(8, link9)
LINK(7, link8)
LINK(6, link7)
LINK(5, link6)
LINK(4, link5)
LINK(3, link4)
LINK(2, link3)
LINK(1, link2)

/* Make pages of our text differ, so that the object is mapped in pieces. */
static void split(void *at)
{
	char *page = (char *)((unsigned long)at & ~4095UL);

	if (mprotect(page, 4096, PROT_READ | PROT_WRITE | PROT_EXEC))
		exit(1);
}

int main(int argc, char **argv)
{
	if (argc > 1 && strcmp(argv[1], "split") == 0) {
		split((void *)link6);
		split((void *)link9);
	}
	return link1(argc) + 1;
}
