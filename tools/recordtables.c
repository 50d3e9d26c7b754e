// SPDX-License-Identifier: BSD-2-Clause
#include "recordtables.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

#include "commands.h"
#include "threadstart.h"

static void *keep(void *arg)
{
	struct recordtables *t = arg;
	char end;

	while (tablekeeper_wait(&t->keeper))
		if (read(t->keeper.until, &end, 1) == 0)
			break;
	return NULL;
}

/* Signals are for the thread that samples, but for what this one does itself. */
static bool run_thread(struct recordtables *t)
{
	sigset_t all, old;
	int fds[2], failed;

	if (pipe2(fds, O_CLOEXEC | O_NONBLOCK)) {
		complain("pipe: %m");
		return false;
	}
	t->keeper.until = fds[0];
	t->wake = fds[1];
	sigfillset(&all);
	sigdelset(&all, SIGBUS);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	failed = ow_thread_start(&t->thread, keep, t);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	if (failed)
		complain("no thread could be started");
	t->runs = !failed;
	return t->runs;
}

static bool follow(struct tablekeeper *k, const struct record_request *r,
		   pid_t command)
{
	size_t i;

	if (r->everyone)
		return tablekeeper_follow_all(k);
	if (command)
		return tablekeeper_follow(k, command);
	for (i = 0; i < r->nr_pids; i++)
		if (!tablekeeper_follow(k, r->pids[i]))
			return false;
	return true;
}

bool recordtables_begin(struct recordtables *t, const struct record_request *r,
			pid_t command)
{
	*t = (struct recordtables){
		.keeper = { .dev = -1, .until = -1 },
		.wake = -1,
	};
	if (r->live.engine != OW_ENGINE_KUNWIND)
		return true;
	return tablekeeper_open(&t->keeper) && follow(&t->keeper, r, command) &&
	       run_thread(t);
}

void recordtables_end(struct recordtables *t)
{
	if (t->wake >= 0)
		close(t->wake);
	if (t->runs)
		pthread_join(t->thread, NULL);
	if (t->keeper.until >= 0)
		close(t->keeper.until);
	tablekeeper_close(&t->keeper);
}

void recordtables_print(const struct recordtables *t)
{
	const struct ow_kunwind_tally *n = &t->keeper.tally;

	if (t->runs)
		fprintf(stderr,
			"kunwind: %lu processes followed, %lu tables made, %lu "
			"that could not be\n",
			n->followed, n->made, n->failed);
}
