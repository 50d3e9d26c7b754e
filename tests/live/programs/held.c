/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Preloaded: a program stops by itself when its libraries are there and before
 * main(), so that somebody can begin to trace it.
 */
#include <signal.h>

__attribute__((constructor)) static void hold(void)
{
	raise(SIGSTOP);
}
