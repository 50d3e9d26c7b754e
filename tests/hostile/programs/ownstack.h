/* SPDX-License-Identifier: BSD-2-Clause */
/* Memory of a program's own making as the stack that it waits in. */
#ifndef HOSTILE_OWNSTACK_H
#define HOSTILE_OWNSTACK_H

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "ownspace.h"

#define PAGE 4096UL

static inline void *get_memory(size_t size, int prot)
{
	void *memory =
		mmap(NULL, size, prot, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (memory == MAP_FAILED)
		fail("memory");
	return memory;
}

/* Return code that waits for ever. */
static inline void *make_code(void)
{
	/* mov $34, %eax; syscall (pause(2)); and again */
	static const unsigned char code[] = { 0xb8, 34,   0,    0,   0,
					      0x0f, 0x05, 0xeb, 0xf7 };
	void *at = get_memory(PAGE, PROT_READ | PROT_WRITE | PROT_EXEC);

	return memcpy(at, code, sizeof(code));
}

/* Say that we are ready, and run that code with st as the stack and the frame pointer. */
static inline void wait_in(void *st, void *code)
{
	puts("ready");
	fflush(stdout);
	__asm__ volatile("mov %0, %%rsp; mov %0, %%rbp; jmp *%1"
			 :
			 : "r"(st), "r"(code)
			 : "memory");
}

#endif /* HOSTILE_OWNSTACK_H */
