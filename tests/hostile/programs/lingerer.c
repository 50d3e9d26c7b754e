// SPDX-License-Identifier: BSD-2-Clause
/*
 * A process called NAME that has no memory any more, and does not end: the first one of a
 * PID namespace waits, when it is killed, until all others there are waited for, and one of
 * them is a child of ours (pid_namespaces(7)).  It prints its number.
 */
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

static bool is_without_memory(pid_t pid)
{
	char path[32], c;
	FILE *maps;
	bool has_any;

	snprintf(path, sizeof(path), "/proc/%d/maps", pid);
	maps = fopen(path, "re");
	has_any = maps && fread(&c, 1, 1, maps) == 1;
	if (maps)
		fclose(maps);
	return !has_any;
}

int main(int argc, char **argv)
{
	pid_t first, other;
	siginfo_t info;

	if (argc < 2 || prctl(PR_SET_NAME, argv[1]) || unshare(CLONE_NEWPID))
		return 1;
	first = fork();
	while (first == 0)
		pause();
	other = fork();
	if (other == 0)
		_exit(0);
	if (first < 0 || other < 0 ||
	    waitid(P_PID, (id_t)other, &info, WEXITED | WNOWAIT))
		return 1;
	kill(first, SIGKILL);
	while (!is_without_memory(first))
		usleep(1000);
	printf("ready %d\n", first);
	fflush(stdout);
	for (;;)
		pause();
}
