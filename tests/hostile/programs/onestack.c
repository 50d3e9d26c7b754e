// SPDX-License-Identifier: BSD-2-Clause
/*
 * onestack HOW THREADS: threads that wait on one stack of return addresses.  If HOW is
 * "slow", these are of a function whose CFA is an expression that loops: it takes 4,000
 * operations to say rsp + 8.  If it is "plain", rsp + 8 is what its CFA is; so it is if it
 * is "saved", and then the rules of all registers are saved and restored 100 times before.
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define FRAMES 1024

static uint64_t *stack;

extern char slow_call[], plain_call[], saved_call[];

#define FUNCTION(name, cfi)                      \
	".type " name ", @function\n" name ":\n" \
	".cfi_startproc\n" cfi name "_call:\n"   \
	"	nop\n"                                 \
	"1:	mov $34, %eax\n" /* pause(2) */  \
	"	syscall\n"                             \
	"	jmp 1b\n"                              \
	".cfi_endproc\n"                         \
	".size " name ", . - " name "\n"

/* The row is none that the cache has room for, as r15 is the CFA. */
#define SAVED                                                   \
	".irp reg, 0, 1, 2, 3, 4, 5, 6, 8, 9, 10, 11, 12, 13\n" \
	".cfi_offset \\reg, -8\n"                               \
	".endr\n"                                               \
	".cfi_val_offset 15, 0\n"                               \
	".rept 100\n"                                           \
	".cfi_remember_state\n"                                 \
	".cfi_restore_state\n"                                  \
	".endr\n"

/* DW_CFA_def_cfa_expression: breg7 8; const2u 1000; lit1; minus; dup; bra -6; drop. */
__asm__(".text\n" FUNCTION("slow",
			   ".cfi_escape 0x0f, 12, 0x77, 8, 0x0a, 0xe8, 3, 0x31,"
			   " 0x1c, 0x12, 0x28, 0xfa, 0xff, 0x13\n")
		FUNCTION("plain", "") FUNCTION("saved", SAVED));

/* At one of the calls. */
static void *wait_there(void *call)
{
	__asm__ volatile("mov %0, %%rsp\n\tjmp *%1"
			 :
			 : "r"(stack), "r"(call)
			 : "memory");
	return call;
}

int main(int argc, char **argv)
{
	long nr = argc > 2 ? strtol(argv[2], NULL, 0) : 1;
	const char *how = argc > 1 ? argv[1] : "plain";
	char *call = !strcmp(how, "slow")  ? slow_call :
		     !strcmp(how, "saved") ? saved_call :
					     plain_call;
	pthread_attr_t attr;
	pthread_t thread;
	long i;

	/* Zeros, which no frame is at, come after the frames. */
	stack = mmap(NULL, 16UL * FRAMES, PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (stack == MAP_FAILED)
		return 1;
	for (i = 0; i < FRAMES; i++)
		stack[i] = (uint64_t)call + 1;
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, 65536);
	for (i = 0; i < nr; i++)
		if (pthread_create(&thread, &attr, wait_there, call))
			return 1;
	puts("ready");
	fflush(stdout);
	for (;;)
		pause();
}
