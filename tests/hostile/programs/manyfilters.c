// SPDX-License-Identifier: BSD-2-Clause
/*
 * manyfilters NR: so many threads that sleep, and as many filters of system calls as the
 * kernel lets a thread have (seccomp(2)).
 */
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static void set_filters(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	const struct sock_fprog filter = { 1, code };

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		exit(1);
	while (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &filter) == 0)
		;
}

/* A stop makes the kernel go on with this call by another one. */
static void *sleep_for_long(void *none)
{
	const struct timespec t = { .tv_sec = 100000 };

	nanosleep(&t, NULL);
	return none;
}

int main(int argc, char **argv)
{
	long nr = argc > 1 ? atol(argv[1]) : 0;
	pthread_attr_t small;
	pthread_t thread;

	set_filters();
	pthread_attr_init(&small);
	pthread_attr_setstacksize(&small, 16384);
	while (nr-- > 0)
		if (pthread_create(&thread, &small, sleep_for_long, NULL))
			return 1;
	puts("ready");
	fflush(stdout);
	sleep_for_long(NULL);
}
