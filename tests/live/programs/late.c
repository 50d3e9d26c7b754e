/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Maps code while it is being looked at: late INNER.so OUTER.so FILE loads these
 * when it gets SIGUSR1, makes the file, and stays in main -> outer_enter ->
 * inner_enter -> stay.  With -DENTER=NAME, such a library; with -DHOOK, what is
 * preloaded into outwind: about to start the thread that takes others, it has
 * $LATE_PID do that, and waits for the file, $LATE_SAYS.
 */
#if defined(HOOK)
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

int sched_getcpu(void)
{
	const char *pid = getenv("LATE_PID"), *says = getenv("LATE_SAYS");
	unsigned int cpu;
	int tries = 5000;

	if (pid && says && !kill(atoi(pid), SIGUSR1)) {
		while (access(says, F_OK) && --tries)
			usleep(1000);
		usleep(50000); /* it calls what it has loaded */
	}
	return syscall(SYS_getcpu, &cpu, NULL, NULL) ? -1 : (int)cpu;
}
#elif defined(ENTER)
#include "stay.h"

typedef int enter_fn(void *next);

NOINLINE int ENTER(void *next)
{
	return (next ? ((enter_fn *)next)(0) : stay(1)) + 1;
}
#else
#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

typedef int enter_fn(void *next);

static void wake(int nr)
{
	(void)nr;
}

int main(int argc, char **argv)
{
	struct sigaction action = { .sa_handler = wake };
	void *inner, *outer;
	enter_fn *enter;
	sigset_t usr1, old;

	if (argc != 4)
		return 64;
	sigemptyset(&usr1);
	sigaddset(&usr1, SIGUSR1);
	sigprocmask(SIG_BLOCK, &usr1, &old);
	sigaction(SIGUSR1, &action, NULL);
	puts("ready");
	fflush(stdout);
	sigsuspend(&old);
	inner = dlopen(argv[1], RTLD_NOW);
	outer = dlopen(argv[2], RTLD_NOW);
	if (!inner || !outer)
		return 1;
	*(void **)&enter = dlsym(outer, "outer_enter");
	close(open(argv[3], O_WRONLY | O_CREAT, 0600));
	return enter(dlsym(inner, "inner_enter")) + 1;
}
#endif
