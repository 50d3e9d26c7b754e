/* SPDX-License-Identifier: BSD-2-Clause */
/* Running on a stack that is neither the thread's own nor its handlers'. */
#ifndef SWAPPED_H
#define SWAPPED_H

#include <ucontext.h>

#include "stay.h"

static NOINLINE int swapped(void (*coroutine)(void))
{
	static ucontext_t here, there;
	static char stack[65536];

	getcontext(&there);
	there.uc_stack.ss_sp = stack;
	there.uc_stack.ss_size = sizeof(stack);
	there.uc_link = &here;
	makecontext(&there, coroutine, 0);
	return swapcontext(&here, &there);
}

#endif /* SWAPPED_H */
