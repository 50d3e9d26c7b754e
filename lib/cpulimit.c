// SPDX-License-Identifier: BSD-2-Clause
#include "cpulimit.h"

#include <signal.h>
#include <time.h>

#include "delegate.h"
#include "threadstart.h"
#include "worktime.h"

#define LOOK_EVERY_NS 20000000
#define MOST_TIMES    4 /* most_ns, whatever the steps */

/* The caller has the mutex, which is given back meanwhile. */
static void wait_a_moment(struct ow_cpulimit *l)
{
	struct timespec until;

	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_nsec += LOOK_EVERY_NS;
	if (until.tv_nsec >= 1000000000) {
		until.tv_sec++;
		until.tv_nsec -= 1000000000;
	}
	pthread_cond_timedwait(&l->done, &l->mutex, &until);
}

/* Not all work counts its steps. */
static bool is_over(const struct ow_cpulimit *l)
{
	uint64_t now = ow_worktime_ns(l->of);

	return (l->also && __atomic_load_n(l->also, __ATOMIC_RELAXED)) ||
	       now >= l->latest_ns ||
	       (now >= l->until_ns &&
		ow_worktime_steps(l->of) >= l->until_steps);
}

/* All signals are blocked here, so that sigpending(2) tells of the process' own. */
static void *watch(void *arg)
{
	struct ow_cpulimit *l = arg;

	pthread_mutex_lock(&l->mutex);
	while (!l->is_done) {
		if (is_over(l) || ow_delegate_must_end())
			__atomic_store_n(&l->stop, true, __ATOMIC_RELAXED);
		wait_a_moment(l);
	}
	pthread_mutex_unlock(&l->mutex);
	return NULL;
}

/* A signal that nobody blocks goes to the caller, as it would without this thread. */
static bool start(struct ow_cpulimit *l)
{
	sigset_t all, old;
	int error;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	error = ow_thread_start(&l->thread, watch, l);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	return !error;
}

void ow_cpulimit_begin(struct ow_cpulimit *l, uint64_t most_ns,
		       uint64_t free_steps, const bool *also)
{
	pthread_condattr_t attr;

	*l = (struct ow_cpulimit){ .of = ow_worktime_mine(), .also = also };
	l->until_ns = ow_worktime_ns(l->of) + most_ns;
	l->latest_ns = l->until_ns + (MOST_TIMES - 1) * most_ns;
	l->until_steps = ow_worktime_steps(l->of) + free_steps;
	pthread_mutex_init(&l->mutex, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&l->done, &attr);
	pthread_condattr_destroy(&attr);
	l->is_watched = start(l);
}

void ow_cpulimit_end(struct ow_cpulimit *l)
{
	if (l->is_watched) {
		pthread_mutex_lock(&l->mutex);
		l->is_done = true;
		pthread_cond_signal(&l->done);
		pthread_mutex_unlock(&l->mutex);
		pthread_join(l->thread, NULL);
	}
	pthread_cond_destroy(&l->done);
	pthread_mutex_destroy(&l->mutex);
}
