/* SPDX-License-Identifier: BSD-2-Clause */
/* A limit to the CPU time of one piece of work, which ends itself when it is told to. */
#ifndef OW_CPULIMIT_H
#define OW_CPULIMIT_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

/* The caller's; it may not be moved while it is under way. */
struct ow_cpulimit {
	bool stop; /* the work is to end; read it by __atomic_load_n() */
	/* Its own: */
	bool is_watched, is_done;
	uint64_t until_ns; /* CLOCK_PROCESS_CPUTIME_ID */
	pthread_mutex_t mutex;
	pthread_cond_t done;
	pthread_t thread;
};

/* The CPU time of all threads of the process in nanoseconds. */
uint64_t ow_process_cpu_ns(void);

/*
 * Begin: stop is set when the process has taken so many ns of CPU time more, or when a
 * signal is pending that ends it.  Without a thread to watch, it never is.
 */
void ow_cpulimit_begin(struct ow_cpulimit *l, uint64_t most_ns);
void ow_cpulimit_end(struct ow_cpulimit *l);

#endif /* OW_CPULIMIT_H */
