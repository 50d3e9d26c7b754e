// SPDX-License-Identifier: BSD-2-Clause
/*
 * Secrets everywhere on a stack: in buffers, in registers that calls save, in
 * those of an interrupted function.  Each is eight bytes, "SECRET" and two
 * digits, made up while running so that no file has them.
 */
#include <alloca.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>

#include "stay.h"

static NOINLINE uint64_t secret(int n)
{
	char text[9];
	uint64_t value;

	snprintf(text, sizeof(text), "SEC%s%02d", "RET", n % 100);
	memcpy(&value, text, 8);
	return value;
}

static NOINLINE int fill(volatile uint64_t *to, int nr, int n)
{
	for (int i = 0; i < nr; i++)
		to[i] = secret(n + i);
	return nr;
}

/* In a system call, with secrets for arguments. */
static NOINLINE long in_syscall(int n)
{
	if (write(1, "ready\n", 6) != 6)
		return 1;
	for (;;)
		syscall(SYS_pause, secret(n), secret(n + 1), secret(n + 2),
			secret(n + 3));
}

static void on_signal(int sig)
{
	stay(sig);
}

/* Interrupted with secrets in whatever registers there are. */
static NOINLINE long interrupted(int n)
{
	static char stack[64 << 10];
	stack_t ss = { .ss_sp = stack, .ss_size = sizeof(stack) };
	struct sigaction sa = { .sa_handler = on_signal,
				.sa_flags = SA_ONSTACK };
	uint64_t value = secret(n);

	sigaltstack(&ss, NULL);
	sigaction(SIGILL, &sa, NULL);
	__asm__ volatile("mov %0, %%rax; mov %0, %%rbx; mov %0, %%rcx;"
			 "mov %0, %%rdx; mov %0, %%rsi; mov %0, %%rdi;"
			 "mov %0, %%r8; mov %0, %%r9; mov %0, %%r10;"
			 "mov %0, %%r11; mov %0, %%r12; mov %0, %%r13;"
			 "mov %0, %%r14; mov %0, %%r15; ud2"
			 :
			 : "m"(value)
			 : "rax", "rbx", "rcx", "rdx", "rsi", "rdi", "r8", "r9",
			   "r10", "r11", "r12", "r13", "r14", "r15");
	return 0;
}

/* Callees that use these registers have to save them. */
static NOINLINE long in_registers(long (*then)(int), int n)
{
	uint64_t a = secret(n), b = secret(n + 1), c = secret(n + 2);
	uint64_t d = secret(n + 3), e = secret(n + 4);
	long ret;

	__asm__ volatile("" : "+r"(a), "+r"(b), "+r"(c), "+r"(d), "+r"(e));
	ret = then(n + 5);
	__asm__ volatile("" : "+r"(a), "+r"(b), "+r"(c), "+r"(d), "+r"(e));
	return ret + (long)(a ^ b ^ c ^ d ^ e);
}

static NOINLINE long in_buffers(long (*then)(int), int n)
{
	uint64_t fixed[8];
	uint64_t *more = alloca(fill(fixed, 8, n) * sizeof(*more));
	long ret;

	fill(more, 8, n + 8);
	ret = in_registers(then, n + 16);
	__asm__ volatile("" : : "r"(fixed), "r"(more) : "memory");
	return ret + 1;
}

int main(int argc, char **argv)
{
	const char *scene = argc > 1 ? argv[1] : "";

	return (int)in_buffers(
		strcmp(scene, "signal") == 0 ? interrupted : in_syscall, 10);
}
