// SPDX-License-Identifier: BSD-2-Clause
/*
 * A program of a few functions and nothing else, not even a library: it calls
 * lseek() from each of them.  tests/data/lttng has it as it was traced.
 */
#define NOINLINE __attribute__((noinline, noclone))

static inline __attribute__((always_inline)) long call(long nr, long a, long b)
{
	long ret;

	__asm__ volatile("syscall"
			 : "=a"(ret)
			 : "0"(nr), "D"(a), "S"(b), "d"(0L)
			 : "rcx", "r11", "memory");
	return ret;
}

NOINLINE void inner(int depth)
{
	volatile char fill[56];

	fill[0] = (char)depth;
	call(8, -1, depth);
	fill[1] = fill[0];
}

NOINLINE void odd(int depth);

NOINLINE void even(int depth)
{
	if (depth == 0)
		inner(depth);
	else
		odd(depth - 1);
	call(8, -1, depth);
}

NOINLINE void odd(int depth)
{
	volatile char fill[24];

	fill[0] = (char)depth;
	if (depth == 0)
		inner(depth);
	else
		even(depth - 1);
	fill[1] = fill[0];
}

/* It waits in between, so that whoever follows it has its table by then. */
NOINLINE void work(void)
{
	long nap[2] = { 0, 20000000 };
	int i;

	for (i = 0; i < 50; i++)
		call(35, (long)nap, 0);
	for (i = 0; i < 12; i++)
		even(i);
	for (i = 0; i < 5; i++)
		call(35, (long)nap, 0);
}

/* What calls nobody, as the CFI says. */
__asm__(".globl _start\n"
	".type _start,@function\n"
	"_start:\n"
	".cfi_startproc\n"
	".cfi_undefined rip\n"
	"	xor %ebp,%ebp\n"
	"	call work\n"
	"	mov $60,%eax\n"
	"	xor %edi,%edi\n"
	"	syscall\n"
	".cfi_endproc\n"
	".size _start,.-_start\n");
