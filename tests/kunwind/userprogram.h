/* SPDX-License-Identifier: BSD-2-Clause */
/* Programs of users in a test: its own file, run again. */
#ifndef KT_USERPROGRAM_H
#define KT_USERPROGRAM_H

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

/*
 * Run this file as a user, with these arguments, which end with NULL, until it calls
 * rest_as_program().  Return its number, or -1 and errno if it does not come to that.
 */
static inline pid_t run_as(uid_t uid, char *const arguments[])
{
	int ready[2];
	pid_t pid;
	char c;

	if (pipe2(ready, O_CLOEXEC))
		return -1;
	pid = fork();
	if (pid == 0) {
		dup2(ready[1], STDOUT_FILENO);
		if (setgid(uid) || setuid(uid))
			_exit(1);
		execv("/proc/self/exe", arguments);
		_exit(1);
	}
	close(ready[1]);
	if (read(ready[0], &c, 1) != 1)
		pid = -1;
	close(ready[0]);
	return pid;
}

/* Such a program ends with the test. */
static inline void begin_as_program(void)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
}

/* It has done all that it is for; returns what is to be its status, if that fails. */
static inline int rest_as_program(void)
{
	if (write(STDOUT_FILENO, "x", 1) != 1)
		return 1;
	for (;;)
		pause();
}

static inline void end_program(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

#endif /* KT_USERPROGRAM_H */
