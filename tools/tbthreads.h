/* SPDX-License-Identifier: BSD-2-Clause */
/* Which threads tbstack is to show, and how they are numbered. */
#ifndef OW_TBTHREADS_H
#define OW_TBTHREADS_H

#include "tbargs.h"

struct tb_threads {
	pid_t *tids; /* in the order in which they are shown */
	int *numbers;
	char *states; /* letters that a filter has seen; NULL without one */
	size_t nr;
};

/*
 * Choose the threads that the list or the states in args name: the former in
 * the list's order with their numbers in /proc/PID/task, the latter numbered
 * anew.  Return false with a message on err.  Free with tb_threads_free() in
 * any case.
 */
bool tb_threads_choose(struct tb_threads *ret, const struct tb_args *args,
		       FILE *err);
void tb_threads_free(struct tb_threads *t);

#endif /* OW_TBTHREADS_H */
