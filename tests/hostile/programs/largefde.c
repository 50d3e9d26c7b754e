// SPDX-License-Identifier: BSD-2-Clause
/*
 * A function whose one FDE has 500 KB of instructions, all of which run before the row
 * of any of its addresses is known; and threads that wait in it, below a stack of return
 * addresses that all lie in it and differ.
 *
 * largefde THREADS
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define FRAMES 1000
#define FIELD  0x40000

__asm__(".text\n"
	".globl field\n"
	".type field, @function\n"
	"field:\n"
	".cfi_startproc\n"
	".rept 250000\n"
	".cfi_escape 0x06, 0x00\n" /* DW_CFA_restore_extended */
	".endr\n"
	"field_wait:\n"
	"mov $34, %eax\n" /* pause(2) */
	"syscall\n"
	"jmp field_wait\n"
	".skip 0x40000, 0x90\n"
	".cfi_endproc\n"
	".size field, . - field\n");

extern char field[], field_wait[];

static void *wait_in_field(void *stack)
{
	__asm__ volatile("mov %0, %%rsp\n\tjmp field_wait" : : "r"(stack));
	return NULL;
}

int main(int argc, char **argv)
{
	long nr = argc > 1 ? strtol(argv[1], NULL, 10) : 1, i, k, at = 64;

	for (i = 0; i < nr; i++) {
		uint64_t *stack = calloc(FRAMES + 1, sizeof(*stack));
		pthread_t thread;

		if (!stack)
			return 1;
		for (k = 0; k < FRAMES; k++, at = at % FIELD + 64 + 1)
			stack[k] = (uint64_t)(uintptr_t)field + (uint64_t)at;
		if (pthread_create(&thread, NULL, wait_in_field, stack))
			return 1;
	}
	puts("ready");
	fflush(stdout);
	for (;;)
		pause();
}
