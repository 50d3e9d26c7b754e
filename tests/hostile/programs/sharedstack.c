// SPDX-License-Identifier: BSD-2-Clause
/*
 * A thread that waits on a stack in memory that another process shares, which changes
 * two frames of it all the time: a return into first_inner() is above one into
 * first_outer(), and likewise of the second ones.
 */
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

#ifdef __x86_64__

#define SIZE     (1 << 20)
#define FRAME    65544 /* bytes of each function's */
#define TEXT_(x) #x
#define TEXT(x)  TEXT_(x)

#define FUNCTION(name)                                                       \
	__asm__(".text\n.globl " #name "\n.type " #name ",@function\n" #name \
		":\n.cfi_startproc\n.cfi_def_cfa_offset " TEXT(              \
			FRAME) "\n"                                          \
			       "nop\ncall wait_there\n.globl behind_" #name  \
			       "\nbehind_" #name                             \
			       ":\nnop\nret\n.cfi_endproc\n.size " #name     \
			       ", . - " #name "\n");                         \
	extern char behind_##name[]

FUNCTION(first_inner);
FUNCTION(first_outer);
FUNCTION(second_inner);
FUNCTION(second_outer);

/* pause() for ever, with sp there. */
void wait_there(void *sp);
__asm__(".text\n.globl wait_there\n.type wait_there,@function\nwait_there:\n"
	".cfi_startproc\nmov %rdi, %rsp\n1: mov $34, %eax\nsyscall\njmp 1b\n"
	".cfi_endproc\n.size wait_there, . - wait_there\n");

static void set(char *sp, char *inner, char *outer)
{
	*(char *volatile *)sp = inner;
	*(char *volatile *)(sp + FRAME) = outer;
}

static void pass_time(void)
{
	volatile int i;

	for (i = 0; i < 300; i++)
		;
}

int main(void)
{
	char *stack = mmap(NULL, SIZE, PROT_READ | PROT_WRITE,
			   MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	char *sp = stack + 4096;

	if (stack == MAP_FAILED)
		return 1;
	set(sp, behind_first_inner, behind_first_outer);
	puts("ready");
	fflush(stdout);
	if (fork())
		wait_there(sp);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (;;) {
		set(sp, behind_first_inner, behind_first_outer);
		pass_time();
		set(sp, behind_second_inner, behind_second_outer);
		pass_time();
	}
}

#else

int main(void)
{
	return 1;
}

#endif
