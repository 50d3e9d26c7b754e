/* SPDX-License-Identifier: BSD-2-Clause */
/* Threads that have enough stack, whatever limit of it we run under. */
#ifndef OW_THREADSTART_H
#define OW_THREADSTART_H

#include <pthread.h>

#define OW_THREAD_STACK ((size_t)1 << 20) /* as a delegate has (delegate.c) */

/*
 * As pthread_create(3), with OW_THREAD_STACK at least: glibc gives a thread as much
 * as RLIMIT_STACK is.
 */
static inline int ow_thread_start(pthread_t *thread, void *(*run)(void *arg),
				  void *arg)
{
	pthread_attr_t attr;
	size_t size;
	int error = pthread_attr_init(&attr);

	if (error)
		return error;
	error = pthread_attr_getstacksize(&attr, &size);
	if (!error && size < OW_THREAD_STACK)
		error = pthread_attr_setstacksize(&attr, OW_THREAD_STACK);
	if (!error)
		error = pthread_create(thread, &attr, run, arg);
	pthread_attr_destroy(&attr);
	return error;
}

#endif /* OW_THREADSTART_H */
