// SPDX-License-Identifier: BSD-2-Clause
/*
 * A thread in a code segment of its own (modify_ldt(2)), whose base has its pc be the
 * address of a function that never runs: it waits in a call, or, if HOW is "spin", runs.
 * If it is "seem" pc is behind a call's instruction there.
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
#define CALL_END   7  /* in what waits there, of its call's instruction */

/* No call is made in its first bytes. */
__attribute__((noinline)) void never(void)
{
	__asm__ volatile(".skip 64, 0x90");
	puts("never");
}

#ifdef __x86_64__
#define CALL "syscall"
#else
#define CALL "int $0x80"
#endif

void behind_call(void);

__attribute__((noinline, used)) void never_calls(void)
{
	__asm__ volatile(".skip 16, 0x90\n\t" CALL "\nbehind_call:\n\t"
			 ".skip 64, 0x90");
	puts("never");
}

__attribute__((noinline)) void wait_here(void)
{
	long result;

	for (;;)
		__asm__ volatile(CALL
				 : "=a"(result)
				 : "a"(SYS_pause)
				 :
#ifdef __x86_64__
				 "rcx", "r11",
#endif
				 "memory");
}

/* What address its code seems to begin at. */
static uint32_t seeming;

static void *run_there(void *stack)
{
	static struct {
		uint32_t offset;
		uint16_t segment;
	} __attribute__((packed)) to = { .segment = CS };

	uint32_t *sp = (uint32_t *)((char *)stack + STACK_SIZE / 2);

	to.offset = seeming;
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
	bool seems = argc > 1 && strcmp(argv[1], "seem") == 0;
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
	seeming = seems ? (uint32_t)(uintptr_t)behind_call - CALL_END :
			  (uint32_t)(uintptr_t)never + SKIPPED;
	segment.base_addr = (uint32_t)(uintptr_t)code - seeming;
	if (syscall(SYS_modify_ldt, 0x11, &segment, sizeof(segment)) ||
	    pthread_create(&thread, NULL, run_there, stack))
		return 1;
	puts("ready");
	fflush(stdout);
	wait_here();
}
