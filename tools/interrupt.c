// SPDX-License-Identifier: BSD-2-Clause
#include "interrupt.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>
#include <unistd.h>

#include "clockns.h"

#define AT_ONCE_NS 300000000

#define LOOK_NS 100000000 /* between two looks at a write */
#define LOOKS   10 /* that find the same write after a signal: it waits */

static volatile int wishes, most_noted;

/* The signal of the last wish, for the handler alone. */
static int last;
static uint64_t last_ns; /* CLOCK_MONOTONIC */

static const int signals[] = { SIGINT, SIGTERM, SIGHUP };
#define NR_SIGNALS (sizeof(signals) / sizeof(signals[0]))

static void fill_set(sigset_t *set)
{
	size_t i;

	sigemptyset(set);
	for (i = 0; i < NR_SIGNALS; i++)
		sigaddset(set, signals[i]);
}

static void note(int number)
{
	uint64_t now = clock_ns(CLOCK_MONOTONIC);

	if (wishes && number != last && now - last_ns < AT_ONCE_NS)
		return;
	last = number;
	last_ns = now;
	if (wishes < most_noted) {
		wishes++;
		return;
	}
	signal(number, SIG_DFL);
	raise(number);
}

void interrupt_catch(int most)
{
	struct sigaction before, action = { .sa_handler = note };
	size_t i;

	most_noted = most;
	fill_set(&action.sa_mask);
	for (i = 0; i < NR_SIGNALS; i++) {
		sigaction(signals[i], NULL, &before);
		/* As nohup(1) has it. */
		if (before.sa_handler != SIG_IGN)
			sigaction(signals[i], &action, NULL);
	}
}

const volatile int *interrupt_wishes(void)
{
	return &wishes;
}

bool interrupt_came(void)
{
	return wishes > 0;
}

bool interrupt_came_again(void)
{
	return wishes > 1;
}

/* --- writes that wait --- */

/* The number of the write that is under way; or 0. */
static _Atomic uint64_t writing;

/* Whether the thread below runs, and is to end; and what was blocked before the write. */
static bool is_watched, is_ending;
static pthread_t watcher;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t ending = PTHREAD_COND_INITIALIZER;
static sigset_t before_write;

/* A signal that waits for the end of the write, and that we catch; or 0. */
static int find_pending(void)
{
	struct sigaction action;
	sigset_t set;
	size_t i;

	if (sigpending(&set))
		return 0;
	for (i = 0; i < NR_SIGNALS; i++)
		if (sigismember(&set, signals[i]) == 1 &&
		    !sigaction(signals[i], NULL, &action) &&
		    action.sa_handler == note)
			return signals[i];
	return 0;
}

/* With the lock; return true if there is to be no other look. */
static bool wait_for_look(void)
{
	uint64_t until = clock_ns(CLOCK_MONOTONIC) + LOOK_NS;
	const struct timespec at = { (time_t)(until / 1000000000),
				     (long)(until % 1000000000) };

	while (!is_ending &&
	       !pthread_cond_clockwait(&ending, &lock, CLOCK_MONOTONIC, &at))
		;
	return is_ending;
}

/*
 * A thread of its own, as no handler runs in one that waits for a file system; but a
 * signal that ends the process ends such waits, too.
 */
static void *watch(void *arg)
{
	uint64_t number, seen = 0;
	unsigned int looks = 0;
	sigset_t set;
	int pending;

	pthread_mutex_lock(&lock);
	while (!wait_for_look()) {
		number = atomic_load(&writing);
		pending = number ? find_pending() : 0;
		looks = pending && number == seen ? looks + 1 : 0;
		seen = number;
		if (looks < LOOKS)
			continue;
		signal(pending, SIG_DFL);
		fill_set(&set);
		pthread_sigmask(SIG_UNBLOCK, &set, NULL);
	}
	pthread_mutex_unlock(&lock);
	return arg;
}

static bool start_watch(void)
{
	sigset_t all, before;
	bool is_started;

	is_ending = false;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	is_started = !pthread_create(&watcher, NULL, watch, NULL);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return is_started;
}

void interrupt_end(void)
{
	if (!is_watched || gettid() != getpid())
		return;
	pthread_mutex_lock(&lock);
	is_ending = true;
	pthread_cond_signal(&ending);
	pthread_mutex_unlock(&lock);
	pthread_join(watcher, NULL);
	is_watched = false;
}

static uint64_t last_number;
static unsigned int depth;

void interrupt_begin_write(void)
{
	sigset_t set;

	if (!most_noted || gettid() != getpid() ||
	    (!is_watched && !(is_watched = start_watch())))
		return;
	if (depth++ == 0) {
		fill_set(&set);
		pthread_sigmask(SIG_BLOCK, &set, &before_write);
	}
	atomic_store(&writing, ++last_number);
}

void interrupt_end_write(void)
{
	if (!depth || gettid() != getpid())
		return;
	depth--;
	atomic_store(&writing, depth ? ++last_number : 0);
	if (!depth)
		pthread_sigmask(SIG_SETMASK, &before_write, NULL);
}
