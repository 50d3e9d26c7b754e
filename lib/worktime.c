// SPDX-License-Identifier: BSD-2-Clause
#include "worktime.h"

#include "threadstart.h"

static __thread struct ow_worktime mine;
static __thread struct ow_worktime *starters; /* of a helper */

/* 0, where its thread has just ended. */
static uint64_t read_clock(clockid_t clock)
{
	struct timespec t;

	if (!clock || clock_gettime(clock, &t))
		return 0;
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

const struct ow_worktime *ow_worktime_mine(void)
{
	clockid_t clock;

	/* Each time: the number is another one after fork(2). */
	if (!pthread_getcpuclockid(pthread_self(), &clock))
		__atomic_store_n(&mine.thread, clock, __ATOMIC_RELAXED);
	return &mine;
}

/* A helper that ends meanwhile is missed for a moment, and never counted twice. */
uint64_t ow_worktime_ns(const struct ow_worktime *w)
{
	uint64_t helped = __atomic_load_n(&w->helped_ns, __ATOMIC_ACQUIRE);

	return helped +
	       read_clock(__atomic_load_n(&w->thread, __ATOMIC_RELAXED)) +
	       read_clock(__atomic_load_n(&w->helper, __ATOMIC_RELAXED));
}

void ow_worktime_step(uint64_t steps)
{
	struct ow_worktime *w = starters ? starters : &mine;

	__atomic_fetch_add(&w->steps, steps, __ATOMIC_RELAXED);
}

uint64_t ow_worktime_steps(const struct ow_worktime *w)
{
	return __atomic_load_n(&w->steps, __ATOMIC_RELAXED);
}

static void *help(void *arg)
{
	struct ow_helper *h = arg;
	const struct ow_worktime *w = ow_worktime_mine();
	void *ret;

	starters = h->of;
	__atomic_store_n(&h->of->helper, w->thread, __ATOMIC_RELAXED);
	ret = h->run(h->arg);
	__atomic_store_n(&h->of->helper, 0, __ATOMIC_RELAXED);
	__atomic_fetch_add(&h->of->helped_ns, ow_worktime_ns(w),
			   __ATOMIC_RELEASE);
	return ret;
}

int ow_helper_start(struct ow_helper *h, void *(*run)(void *arg), void *arg)
{
	*h = (struct ow_helper){ .run = run, .arg = arg, .of = &mine };
	return ow_thread_start(&h->thread, help, h);
}

void ow_helper_join(struct ow_helper *h)
{
	pthread_join(h->thread, NULL);
}
