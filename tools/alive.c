// SPDX-License-Identifier: BSD-2-Clause
#include "alive.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "reach.h"

/* Room for /proc/PID/stat up to the number of threads. */
#define STAT_SIZE 512

struct alive_process {
	pid_t pid;
	int fd; /* of the process itself; -1: it can only be told by its number */
};

/* Return true if the text of a stat is about a process that still runs. */
static bool tells_of_life(const char *text)
{
	const char *at;
	long threads = 0;
	char state;

	/* Its name, in parentheses, may hold anything. */
	at = strrchr(text, ')');
	if (!at || sscanf(at + 1,
			  " %c %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s "
			  "%*s %*s %*s %*s %ld",
			  &state, &threads) != 2)
		return false;
	return (state != 'Z' && state != 'X') || threads > 1;
}

static bool is_number_alive(pid_t pid)
{
	char path[32], *text;
	bool is;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	text = ow_reach_text(path, STAT_SIZE, NULL);
	/* A process that can't be asked about is there. */
	is = text ? tells_of_life(text) : errno != ENOENT && errno != ESRCH;
	free(text);
	return is;
}

static bool is_alive(const struct alive_process *p)
{
	struct pollfd end = { .fd = p->fd, .events = POLLIN };

	/* It can be read when all threads have ended. */
	return p->fd >= 0 ? poll(&end, 1, 0) == 0 : is_number_alive(p->pid);
}

bool alive_add(struct alive *a, pid_t pid)
{
	struct alive_process *more =
		realloc(a->all, (a->nr + 1) * sizeof(*more));

	if (!more)
		return false;
	a->all = more;
	more[a->nr++] = (struct alive_process){
		.pid = pid,
		.fd = (int)syscall(SYS_pidfd_open, pid, 0),
	};
	return true;
}

bool alive_is_any(const struct alive *a)
{
	size_t i;

	for (i = 0; i < a->nr; i++)
		if (is_alive(&a->all[i]))
			return true;
	return false;
}

void alive_free(struct alive *a)
{
	size_t i;

	for (i = 0; i < a->nr; i++)
		if (a->all[i].fd >= 0)
			close(a->all[i].fd);
	free(a->all);
	*a = (struct alive){ 0 };
}
