/* SPDX-License-Identifier: BSD-2-Clause */
/* A limit to the CPU time of one piece of work, which ends itself when it is told to. */
#ifndef OW_CPULIMIT_H
#define OW_CPULIMIT_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

struct ow_worktime;

/* The caller's; it may not be moved while it is under way. */
struct ow_cpulimit {
	bool stop; /* the work is to end; read it by __atomic_load_n() */
	/* Its own: */
	bool is_watched, is_done;
	const struct ow_worktime *of;
	const bool *also;
	uint64_t until_ns, until_steps, latest_ns; /* of that */
	pthread_mutex_t mutex;
	pthread_cond_t done;
	pthread_t thread;
};

/*
 * Begin: stop is set when the calling thread and its helpers (worktime.h) have taken so
 * many ns of CPU time more, and have done so many steps more, which any machine may take
 * its time for; when they have taken four times as many ns; when *also is set, unless also
 * is NULL; or when a signal is pending that ends the process.  Without a thread to watch,
 * stop is never set.
 */
void ow_cpulimit_begin(struct ow_cpulimit *l, uint64_t most_ns,
		       uint64_t free_steps, const bool *also);
void ow_cpulimit_end(struct ow_cpulimit *l);

#endif /* OW_CPULIMIT_H */
