/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The CPU time of a thread's work, part of which another thread may do for it; and its
 * steps, which are the same on any machine, and take some 10 ns each on a usual one.
 */
#ifndef OW_WORKTIME_H
#define OW_WORKTIME_H

#include <pthread.h>
#include <stdint.h>
#include <time.h>

/* Of one thread; all of it is atomic. */
struct ow_worktime {
	clockid_t thread,
		helper;     /* its clock, and its helper's; 0: there is none */
	uint64_t helped_ns; /* by helpers that have ended */
	uint64_t steps;     /* of helpers, too */
};

/* The calling thread's, which is valid until the thread ends. */
const struct ow_worktime *ow_worktime_mine(void);

/* Its CPU time in ns, of helpers, too; any thread may ask. */
uint64_t ow_worktime_ns(const struct ow_worktime *w);

/* The calling thread's work, or that which it helps with, has come on; not for each step. */
void ow_worktime_step(uint64_t steps);

/* The steps so far; any thread may ask. */
uint64_t ow_worktime_steps(const struct ow_worktime *w);

/* A thread that does part of the starter's work; it belongs to the starter. */
struct ow_helper {
	/* Its own: */
	pthread_t thread;
	void *(*run)(void *arg);
	void *arg;
	struct ow_worktime *of;
};

/* Start one, of which a thread has one at a time; 0, or as ow_thread_start(). */
int ow_helper_start(struct ow_helper *h, void *(*run)(void *arg), void *arg);
void ow_helper_join(struct ow_helper *h);

#endif /* OW_WORKTIME_H */
