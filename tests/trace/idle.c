// SPDX-License-Identifier: BSD-2-Clause
/*
 * Preloaded: the process that reads a trace waits before it sends any event, as with
 * a live session that has none, and the one that receives events gets a signal as it
 * is about to wait for the first.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/time.h>
#include <unistd.h>

#define IDLE_SECONDS 20

static void signal_once(void)
{
	static int nr;

	if (nr++ == 0)
		kill(getpid(), SIGINT);
}

/* Only the reading process has a time limit. */
int setitimer(__itimer_which_t which, const struct itimerval *value,
	      struct itimerval *old)
{
	(void)which;
	(void)value;
	(void)old;
	sleep(IDLE_SECONDS);
	return 0;
}

size_t fread(void *to, size_t size, size_t nr, FILE *in)
{
	size_t (*next)(void *, size_t, size_t, FILE *) =
		dlsym(RTLD_NEXT, "fread");

	signal_once();
	return next(to, size, nr, in);
}

int ppoll(struct pollfd *fds, nfds_t nr, const struct timespec *timeout,
	  const sigset_t *mask)
{
	int (*next)(struct pollfd *, nfds_t, const struct timespec *,
		    const sigset_t *) = dlsym(RTLD_NEXT, "ppoll");

	signal_once();
	return next(fds, nr, timeout, mask);
}
