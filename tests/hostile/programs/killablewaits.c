// SPDX-License-Identifier: BSD-2-Clause
/*
 * killablewaits NR BUSY: so many threads wait in a call that a filter has a process answer
 * for, which does not, so that SIGKILL alone ends the wait (seccomp(2)); others work.
 */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

/* What <linux/seccomp.h> of Debian 12 may lack (Linux 5.19). */
#ifndef SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV
#define SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV (1UL << 5)
#endif

static int set_filter(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
			 offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_getppid, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	const struct sock_fprog filter = { sizeof(code) / sizeof(code[0]),
					   code };

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		return -1;
	return (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER,
			    SECCOMP_FILTER_FLAG_NEW_LISTENER |
				    SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV,
			    &filter);
}

/* Take all calls, which wait for an answer from then on. */
static void listen_for_ever(int fd, long nr)
{
	struct seccomp_notif got;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (;;) {
		got = (struct seccomp_notif){ 0 };
		if (ioctl(fd, SECCOMP_IOCTL_NOTIF_RECV, &got) && errno != EINTR)
			pause();
		if (--nr == 0) {
			puts("ready");
			fflush(stdout);
		}
	}
}

static void *wait_for_answer(void *none)
{
	(void)none;
	syscall(SYS_getppid);
	return NULL;
}

static void *work(void *none)
{
	(void)none;
	for (;;)
		__asm__ volatile("");
	return NULL;
}

static void start(void *(*how)(void *none), long nr)
{
	pthread_attr_t small;
	pthread_t thread;

	pthread_attr_init(&small);
	pthread_attr_setstacksize(&small, 65536);
	while (nr-- > 0)
		if (pthread_create(&thread, &small, how, NULL))
			exit(1);
}

int main(int argc, char **argv)
{
	long nr = argc > 1 ? atol(argv[1]) : 0;
	int fd = set_filter();

	if (fd < 0) {
		puts("no filter");
		return 1;
	}
	if (fork() == 0)
		listen_for_ever(fd, nr);
	start(wait_for_answer, nr);
	start(work, argc > 2 ? atol(argv[2]) : 0);
	for (;;)
		pause();
}
