// SPDX-License-Identifier: BSD-2-Clause
/*
 * swapshared TIMES: wait, while a process that shares this one's memory, but is none of
 * its threads, maps code in turns, and has the stack lead to what is mapped: TIMES
 * round a loop each.  Where one page has a function that the stack leads to, the other
 * has one that it never does.
 */
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "swapcode.h"

#define BEHIND \
	1 /* of where a function begins: a call there would return to it */
#define FOUR __asm__ volatile("nop; nop; nop; nop")

/* The linker has sections of one name in the order in which they stand here. */
static IN(".first", PAGE) void called_first(void)
{
	FOUR;
}

static IN(".first", HALF) void never_first(void)
{
	FOUR;
}

static IN(".second", PAGE) void never_second(void)
{
	FOUR;
}

static IN(".second", HALF) void called_second(void)
{
	FOUR;
}

static volatile uintptr_t *volatile slot; /* of the return address of who waits */
static long times;

static void lead_to(size_t off)
{
	uintptr_t own = *slot;
	volatile long i;

	*slot = (uintptr_t)AT + off + BEHIND;
	for (i = 0; i < times; i++)
		;
	*slot = own;
}

static int swap(void *arg)
{
	int fd = open("/proc/self/exe", O_RDONLY);

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	while (!slot)
		usleep(1000);
	for (;;) {
		map_page(fd, called_first);
		lead_to(0);
		map_page(fd, never_second);
		lead_to(HALF);
	}
	return arg != NULL;
}

static __attribute__((noinline)) void stand(void)
{
	slot = (volatile uintptr_t *)__builtin_frame_address(0) + 1;
	for (;;)
		pause();
}

int main(int argc, char **argv)
{
	static char stack[1 << 16] __attribute__((aligned(16)));

	if (argc != 2 ||
	    (uint8_t *)never_first != (uint8_t *)called_first + HALF ||
	    (uint8_t *)called_second != (uint8_t *)never_second + HALF)
		return 2;
	times = atol(argv[1]);
	if (clone(swap, stack + sizeof(stack), CLONE_VM | SIGCHLD, NULL) < 0)
		return 1;
	puts("ready");
	fflush(stdout);
	stand();
	return 0;
}
