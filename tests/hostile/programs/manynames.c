// SPDX-License-Identifier: BSD-2-Clause
/*
 * Threads that wait below stacks of return addresses that all differ: each lies in a
 * function of its own, if a change of the file makes one of each two bytes of .field.
 * Each 16 bytes of that could be a stub through which others are called.
 *
 * manynames THREADS
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define FRAMES 1000
#define FIELD  0x3ff00

__asm__(".section .field, \"ax\", @progbits\n"
	".globl field\n"
	".type field, @function\n"
	"field:\n"
	".cfi_startproc\n"
	"field_wait:\n"
	"mov $34, %eax\n" /* pause(2) */
	"syscall\n"
	"jmp field_wait\n"
	".balign 16\n"
	".rept 0x4000\n"
	"jmp *0x100000(%rip)\n"
	".balign 16\n"
	".endr\n"
	".cfi_endproc\n"
	".size field, . - field\n"
	".text\n");

extern char field[], field_wait[];

static void *wait_in_field(void *first)
{
	uint64_t stack[FRAMES + 1] = { 0 };
	uintptr_t i, at = (uintptr_t)first * FRAMES;

	for (i = 0; i < FRAMES; i++, at++)
		stack[i] = (uint64_t)(uintptr_t)field + 64 + at * 2 % FIELD;
	__asm__ volatile("mov %0, %%rsp\n\tjmp field_wait"
			 :
			 : "r"(stack)
			 : "memory");
	return NULL;
}

int main(int argc, char **argv)
{
	uintptr_t nr = argc > 1 ? strtoul(argv[1], NULL, 10) : 1, i;
	pthread_t thread;

	for (i = 0; i < nr; i++)
		if (pthread_create(&thread, NULL, wait_in_field, (void *)i))
			return 1;
	puts("ready");
	fflush(stdout);
	for (;;)
		pause();
}
