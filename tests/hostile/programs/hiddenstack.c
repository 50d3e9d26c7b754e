// SPDX-License-Identifier: BSD-2-Clause
/*
 * Threads wait on stacks that they may not read meanwhile, as some programs protect
 * the stacks of coroutines.
 *
 * hiddenstack none|write|file|guard NR: so many threads; the stack has no access, or
 * may be written only; or has none, and is of a file; or it may be read, and sp is in
 * the guard below, which was never written.
 */
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <ucontext.h>

#include "threads.h"

#define STACK ((size_t)256 << 10)
#define GUARD ((size_t)64 << 10)
#define DEEP  ((size_t)4096) /* below the stack's begin */

struct coroutine {
	ucontext_t own, thread;
	char *stack; /* above the guard */
};

static int protection, is_file, is_guard;
static __thread struct coroutine *current;

/* Change the stack and wait, without a use of it. */
__attribute__((noinline)) static void wait_hidden(void)
{
	char *stack = current->stack;

	if (is_guard)
		wait_with_stack(stack - DEEP);
	__asm__ volatile("mov %0, %%eax\n"
			 "syscall\n"
			 "1: mov %1, %%eax\n"
			 "syscall\n"
			 "jmp 1b\n"
			 :
			 : "i"(SYS_mprotect), "i"(SYS_pause), "D"(stack),
			   "S"(STACK), "d"((long)protection)
			 : "rax", "rcx", "r11", "memory");
}

__attribute__((noinline)) static void call_wait(void)
{
	wait_hidden();
	__asm__ volatile("");
}

static void run_coroutine(void)
{
	call_wait();
	__asm__ volatile("");
}

static char *make_stack(void)
{
	int flags = is_file ? MAP_SHARED : MAP_PRIVATE | MAP_ANONYMOUS, fd = -1;
	char *at;

	if (is_file)
		fd = memfd_create("stack", MFD_CLOEXEC);
	if (is_file && (fd < 0 || ftruncate(fd, (off_t)(GUARD + STACK))))
		fail("memfd");
	at = mmap(NULL, GUARD + STACK, PROT_NONE, flags, fd, 0);
	if (at == MAP_FAILED ||
	    mprotect(at + GUARD, STACK, PROT_READ | PROT_WRITE))
		fail("stack");
	return at + GUARD;
}

static void *run_thread(void *arg)
{
	struct coroutine *c = calloc(1, sizeof(*c));

	if (!c || getcontext(&c->own))
		fail("coroutine");
	c->stack = make_stack();
	c->own.uc_stack.ss_sp = c->stack;
	c->own.uc_stack.ss_size = STACK;
	c->own.uc_link = &c->thread;
	makecontext(&c->own, run_coroutine, 0);
	current = c;
	swapcontext(&c->thread, &c->own);
	return arg;
}

int main(int argc, char **argv)
{
	int i;

	if (argc < 3)
		return 64;
	is_file = strcmp(argv[1], "file") == 0;
	is_guard = strcmp(argv[1], "guard") == 0;
	protection = strcmp(argv[1], "write") == 0 ? PROT_WRITE : PROT_NONE;
	for (i = 0; i < atoi(argv[2]); i++)
		start(run_thread, NULL);
	usleep(200000);
	puts("ready");
	fflush(stdout);
	wait_here(NULL);
}
