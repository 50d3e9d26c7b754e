// SPDX-License-Identifier: BSD-2-Clause
/*
 * One thread waits with its stack pointer in memory that is never served
 * (userfaultfd(2)), and another one, which computes, has one signal after the other
 * from a child.  At SIGTERM its exit status says whether all have arrived.
 */
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "threads.h"

#define SIZE     ((size_t)64 << 10)
#define PAUSE_US 20
#define MOST_US  10000000 /* for the last ones to arrive */

/* Shared with the child. */
static volatile struct {
	long sent, arrived;
	int is_over;
	pid_t tid; /* of who computes */
} * all;

static void count(int number)
{
	(void)number;
	__atomic_add_fetch(&all->arrived, 1, __ATOMIC_RELAXED);
}

static void *compute(void *arg)
{
	struct sigaction action = { .sa_handler = count };

	sigaction(SIGRTMIN, &action, NULL);
	all->tid = (pid_t)syscall(SYS_gettid);
	for (;;)
		__asm__ volatile("");
	return arg;
}

static void *wait_unserved(void *arg)
{
	struct uffdio_api api = { .api = UFFD_API };
	struct uffdio_register reg = { .mode = UFFDIO_REGISTER_MODE_MISSING };
	char *region = mmap(NULL, SIZE, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int uffd = (int)syscall(SYS_userfaultfd, O_CLOEXEC);

	if (uffd < 0 || ioctl(uffd, UFFDIO_API, &api))
		fail("userfaultfd");
	reg.range.start = (uintptr_t)region;
	reg.range.len = SIZE;
	if (region == MAP_FAILED || ioctl(uffd, UFFDIO_REGISTER, &reg))
		fail("register");
	wait_with_stack(region + SIZE / 2);
	return arg;
}

/* Each one is queued, and none is sent twice. */
static void send_signals(pid_t pid)
{
	siginfo_t info;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	while (!all->is_over) {
		memset(&info, 0, sizeof(info));
		info.si_signo = SIGRTMIN;
		info.si_code = SI_QUEUE;
		if (!syscall(SYS_rt_tgsigqueueinfo, pid, all->tid, SIGRTMIN,
			     &info))
			all->sent++;
		usleep(PAUSE_US);
	}
	_exit(0);
}

int main(void)
{
	sigset_t end;
	pid_t pid = getpid(), child;
	int number, us;

	all = mmap(NULL, sizeof(*all), PROT_READ | PROT_WRITE,
		   MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (all == MAP_FAILED)
		fail("mmap");
	sigemptyset(&end);
	sigaddset(&end, SIGTERM);
	sigprocmask(SIG_BLOCK, &end, NULL);
	start(wait_unserved, NULL);
	start(compute, NULL);
	while (!all->tid)
		usleep(1000);
	child = fork();
	if (child == 0)
		send_signals(pid);
	puts("ready");
	fflush(stdout);
	sigwait(&end, &number);
	all->is_over = 1;
	while (waitpid(child, NULL, 0) < 0)
		;
	for (us = 0; all->arrived < all->sent && us < MOST_US; us += 10000)
		usleep(10000);
	_exit(all->arrived != all->sent);
}
