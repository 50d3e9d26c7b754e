/* SPDX-License-Identifier: BSD-2-Clause */
/* Threads of a hostile program, and its end where it can't be hostile. */
#ifndef HOSTILE_THREADS_H
#define HOSTILE_THREADS_H

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static inline void fail(const char *what)
{
	perror(what);
	exit(1);
}

/* A thread that waits in pause() for ever. */
static inline void *wait_here(void *arg)
{
	for (;;)
		pause();
	return arg;
}

static inline void start(void *(*run)(void *), void *arg)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, run, arg))
		fail("thread");
}

#endif /* HOSTILE_THREADS_H */
