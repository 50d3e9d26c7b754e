// SPDX-License-Identifier: BSD-2-Clause
/*
 * A thread in a code segment of its own (modify_ldt(2)), whose base has its pc be the
 * address of a function that never runs: it waits in a call, or, if HOW is "spin", runs.
 * Both threads make their calls in the program's code, which is below 4 GiB.
 */
#include <asm/ldt.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define SIZE       4096
#define STACK_SIZE 65536
#define CS         7  /* the table's first, of ring 3 */
#define SKIPPED    16 /* bytes of never() that pc is behind */

/* No call is made in its first bytes. */
__attribute__((noinline)) void never(void)
{
	__asm__ volatile(".skip 64, 0x90");
	puts("never");
}

__attribute__((noinline)) void wait_here(void)
{
	long result;

	for (;;)
#ifdef __x86_64__
		__asm__ volatile("syscall"
				 : "=a"(result)
				 : "a"(SYS_pause)
				 : "rcx", "r11", "memory");
#else
		__asm__ volatile("int $0x80"
				 : "=a"(result)
				 : "a"(SYS_pause)
				 : "memory");
#endif
}

static void *run_there(void *stack)
{
	static struct {
		uint32_t offset;
		uint16_t segment;
	} __attribute__((packed)) to = { .segment = CS };

	uint32_t *sp = (uint32_t *)((char *)stack + STACK_SIZE / 2);

	to.offset = (uint32_t)(uintptr_t)never + SKIPPED;
	sp[0] = (uint32_t)(uintptr_t)never + 2 * SKIPPED;
#ifdef __x86_64__
	__asm__ volatile("mov %0, %%rsp; ljmp *%1" : : "r"(sp), "m"(to));
#else
	__asm__ volatile("mov %0, %%esp; ljmp *%1" : : "r"(sp), "m"(to));
#endif
	return NULL;
}

static void *map(int prot)
{
	void *at = mmap(NULL, STACK_SIZE, prot,
			MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT, -1, 0);

	return at == MAP_FAILED ? NULL : at;
}

int main(int argc, char **argv)
{
	static const uint8_t loop[] = { 0xeb, 0xfe };
	/* mov $__NR_pause,%eax; int $0x80; and again */
	static const uint8_t pauses[] = { 0xb8, 29,   0,    0,   0,
					  0xcd, 0x80, 0xeb, 0xf7 };
	bool spins = argc > 1 && strcmp(argv[1], "spin") == 0;
	uint8_t *code = map(PROT_READ | PROT_WRITE | PROT_EXEC);
	void *stack = map(PROT_READ | PROT_WRITE);
	struct user_desc segment = {
		.limit = 0xfffff,
		.seg_32bit = 1,
		.contents = MODIFY_LDT_CONTENTS_CODE,
		.limit_in_pages = 1,
		.useable = 1,
	};
	pthread_t thread;

	if (!code || !stack)
		return 1;
	memcpy(code, spins ? loop : pauses,
	       spins ? sizeof(loop) : sizeof(pauses));
	segment.base_addr = (uint32_t)(uintptr_t)code -
			    ((uint32_t)(uintptr_t)never + SKIPPED);
	if (syscall(SYS_modify_ldt, 0x11, &segment, sizeof(segment)) ||
	    pthread_create(&thread, NULL, run_there, stack))
		return 1;
	puts("ready");
	fflush(stdout);
	wait_here();
}
