// SPDX-License-Identifier: BSD-2-Clause
/*
 * tickedthreads NUMBER EVERY: so many threads that wait, one of EVERY for a child that
 * shares its memory, where no stop reaches it (vfork(2)).  Three more get a signal of a
 * timer every 5 ms.  On SIGUSR1 it prints for how many ms one of these stood still at most.
 */
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <time.h>

#include "threads.h"

#define STACK_SIZE 32768
#define TICKERS    3
#define TICK_NS    5000000
#define NAP_NS     2000000

static _Atomic uint64_t longest_ns;

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static void take_tick(int number)
{
	(void)number;
}

static void *wait_for_child(void *arg)
{
	if (vfork() == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		wait_here(arg);
	}
	return arg;
}

static void *tick(void *arg)
{
	const struct itimerspec each = { { 0, TICK_NS }, { 0, TICK_NS } };
	const struct timespec nap = { 0, NAP_NS };
	struct sigevent event = {
		.sigev_notify = SIGEV_THREAD_ID,
		.sigev_signo = SIGRTMIN,
		._sigev_un._tid = gettid(),
	};
	uint64_t before = now_ns(), now, most;
	timer_t timer;

	if (timer_create(CLOCK_MONOTONIC, &event, &timer) ||
	    timer_settime(timer, 0, &each, NULL))
		fail("timer");
	for (;; before = now) {
		nanosleep(&nap, NULL);
		now = now_ns();
		most = longest_ns;
		while (now - before > most &&
		       !atomic_compare_exchange_weak(&longest_ns, &most,
						     now - before))
			;
	}
	return arg;
}

static void start_small(void *(*run)(void *))
{
	pthread_attr_t small;
	pthread_t thread;

	pthread_attr_init(&small);
	pthread_attr_setstacksize(&small, STACK_SIZE);
	if (pthread_create(&thread, &small, run, NULL))
		fail("thread");
}

int main(int argc, char **argv)
{
	const struct sigaction action = { .sa_handler = take_tick,
					  .sa_flags = SA_RESTART };
	int i, nr = argc > 1 ? atoi(argv[1]) : 0;
	int every = argc > 2 ? atoi(argv[2]) : nr + 1;
	sigset_t told;

	sigemptyset(&told);
	sigaddset(&told, SIGUSR1);
	sigprocmask(SIG_BLOCK, &told, NULL);
	sigaction(SIGRTMIN, &action, NULL);
	for (i = 0; i < nr; i++)
		start_small((i + 1) % every ? wait_here : wait_for_child);
	for (i = 0; i < TICKERS; i++)
		start_small(tick);
	wait_to_be_told();
	printf("%llu\n", (unsigned long long)(longest_ns / 1000000));
	fflush(stdout);
	return 0;
}
