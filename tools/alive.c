// SPDX-License-Identifier: BSD-2-Clause
#include "alive.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "reach.h"

/* Room for /proc/PID/stat up to the number of threads. */
#define STAT_SIZE 512

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

bool is_alive(pid_t pid)
{
	char path[32], *text;
	bool is;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	text = ow_reach_text(path, STAT_SIZE, NULL);
	/* A process for which the kernel does not answer is there. */
	is = text ? tells_of_life(text) : errno == ETIMEDOUT;
	free(text);
	return is;
}

bool is_any_alive(const pid_t *pids, size_t nr)
{
	size_t i;

	for (i = 0; i < nr; i++)
		if (is_alive(pids[i]))
			return true;
	return false;
}
