// SPDX-License-Identifier: BSD-2-Clause
/*
 * A process that lives on without its first thread is followed by its number, and gets
 * its tables.  Run as root, where nobody may open the module.
 */
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <outwind/kunwind.h>
#include <outwind/outwind.h>

#define NOBODY 65534

static int passed, failed;
static int go[2], done[2];

static void say(bool well, const char *who, const char *what, long figure)
{
	passed += well;
	failed += !well;
	if (!well)
		printf("not ok - %s: %s (%ld)\n", who, what, figure);
}

/* The thread's own stack, once it is followed. */
static void *unwind(void *arg)
{
	struct ow_frame frames[64];
	int dev = ow_kunwind_open(NULL), nr;
	enum ow_end end = OW_END_NOT_YET;
	char c = 0;

	if (write(done[1], &c, 1) != 1 || read(go[0], &c, 1) != 1)
		_exit(1);
	nr = ow_kunwind_unwind(dev, frames, 64, 0, &end, NULL);
	c = (char)(end == OW_END_OUTERMOST ? nr : -1);
	if (write(done[1], &c, 1) != 1)
		_exit(1);
	_exit(0);
	return arg;
}

static void run_child(void)
{
	pthread_t t;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (pthread_create(&t, NULL, unwind, NULL))
		_exit(1);
	pthread_exit(NULL);
}

/* Wait until a process' first thread has ended, for 10 s at most. */
static void await_end_of_first(pid_t pid)
{
	char path[32], state = 0;
	FILE *f;
	int i;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	for (i = 0; i < 1000 && state != 'Z'; i++) {
		f = fopen(path, "re");
		if (!f)
			return;
		if (fscanf(f, "%*d (%*[^)]) %c", &state) != 1)
			state = 0;
		fclose(f);
		usleep(10000);
	}
}

static void check(const char *who)
{
	int dev = ow_kunwind_open(NULL), got;
	struct ow_error err = { .msg = "" };
	pid_t pid;
	char c;

	if (pipe(go) || pipe(done)) {
		say(false, who, "pipes", 0);
		return;
	}
	pid = fork();
	if (pid == 0)
		run_child();
	say(read(done[0], &c, 1) == 1, who, "a thread runs", 0);
	await_end_of_first(pid);
	got = ow_kunwind_follow(dev, pid, 0, &err);
	say(got == 0, who, err.msg, got);
	say(write(go[1], "x", 1) == 1 && read(done[0], &c, 1) == 1, who,
	    "it is unwound", 0);
	say(c >= 3, who, "frames", c);
	waitpid(pid, NULL, 0);
	close(dev);
}

static void check_nobody(void)
{
	int status = -1;
	pid_t pid = fork();

	if (pid == 0) {
		failed = 0;
		if (setgid(NOBODY) || setuid(NOBODY))
			_exit(1);
		prctl(PR_SET_DUMPABLE, 1);
		check("nobody");
		_exit(failed != 0);
	}
	waitpid(pid, &status, 0);
	say(status == 0, "nobody", "status", status);
}

int main(void)
{
	setvbuf(stdout, NULL, _IOLBF, 0);
	check("root");
	check_nobody();
	printf("%d passed, %d failed\n", passed, failed);
	return failed != 0;
}
