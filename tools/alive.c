// SPDX-License-Identifier: BSD-2-Clause
#include "alive.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Room for /proc/PID/stat up to the number of threads. */
#define STAT_SIZE 512

static bool read_stat(pid_t pid, char *text)
{
	char path[32];
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	n = read(fd, text, STAT_SIZE - 1);
	close(fd);
	text[n > 0 ? n : 0] = '\0';
	return n > 0;
}

bool is_alive(pid_t pid)
{
	char text[STAT_SIZE], *at;
	long threads = 0;
	char state;

	if (!read_stat(pid, text))
		return false;
	/* Its name, in parentheses, may hold anything. */
	at = strrchr(text, ')');
	if (!at || sscanf(at + 1,
			  " %c %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s "
			  "%*s %*s %*s %*s %ld",
			  &state, &threads) != 2)
		return false;
	return (state != 'Z' && state != 'X') || threads > 1;
}

bool is_any_alive(const pid_t *pids, size_t nr)
{
	size_t i;

	for (i = 0; i < nr; i++)
		if (is_alive(pids[i]))
			return true;
	return false;
}
