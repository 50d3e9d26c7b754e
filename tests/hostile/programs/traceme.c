// SPDX-License-Identifier: BSD-2-Clause
/* Makes its parent its tracer, has itself stopped by a signal, works on, and ends with 3. */
#include <signal.h>
#include <stdio.h>
#include <sys/ptrace.h>
#include <time.h>

static volatile sig_atomic_t came;

static void note(int number)
{
	came = number;
}

/* Work for some CPU time. */
static void work(void)
{
	clock_t until = clock() + CLOCKS_PER_SEC / 5;

	while (clock() < until)
		;
}

int main(void)
{
	signal(SIGUSR1, note);
	if (ptrace(PTRACE_TRACEME, 0, NULL, NULL))
		return 1;
	raise(SIGUSR1);
	work();
	if (came != SIGUSR1)
		return 2;
	puts("went on");
	return 3;
}
