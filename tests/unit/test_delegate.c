// SPDX-License-Identifier: BSD-2-Clause
#include "delegate.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "monotonic.h"
#include "test.h"

#define SECOND 1000000000ULL

static const struct ow_delegate_limits patient = { 600 * SECOND, UINT64_MAX,
						   0 };
static const struct ow_delegate_limits brief = { SECOND / 20, UINT64_MAX, 0 };

static const struct ow_delegate_limits patient_apart = { SECOND / 2, UINT64_MAX,
							 0 };

struct work {
	int steps;
	pid_t pid;
	bool has_files;
	enum ow_delegation inner;
};

static void do_steps(void *arg)
{
	struct work *w = arg;
	struct stat st;

	w->pid = getpid();
	w->has_files = !fstat(STDOUT_FILENO, &st);
	for (; w->steps < 1000; w->steps++) {
		ow_delegate_enter();
		ow_delegate_leave();
	}
}

/* A call that only SIGKILL ends, as all other signals are blocked. */
static void wait_for_ever(void *arg)
{
	struct work *w = arg;

	w->steps = 1;
	ow_delegate_enter();
	pause();
	ow_delegate_leave();
	w->steps = 2;
}

static void give_on(void *arg)
{
	struct work *w = arg;

	w->inner = ow_delegate_run(wait_for_ever, w, &brief, NULL);
	do_steps(w);
}

/* Between the starter's look at it and the look whether it has ended. */
static void end_late(void *arg)
{
	struct work *w = arg;
	const struct timespec nap = { 0, 15000000 };

	ow_delegate_enter();
	nanosleep(&nap, NULL);
	ow_delegate_leave();
	w->steps = 1;
}

static bool is_slow; /* waitpid(): it has its caller wait */

/* In place of libc's. */
pid_t waitpid(pid_t pid, int *status, int options)
{
	const struct timespec nap = { 0, 100000000 };

	if (is_slow)
		nanosleep(&nap, NULL);
	return (pid_t)syscall(SYS_wait4, pid, status, options, NULL);
}

static void break_down(void *arg)
{
	(void)arg;
	_exit(3);
}

static void test_done(void)
{
	struct work w = { 0 };
	struct stat st;
	pid_t pid;

	CHECK(ow_delegate_run(do_steps, &w, &patient, &pid) ==
	      OW_DELEGATION_DONE);
	CHECK(w.steps == 1000 && w.pid == pid && pid != getpid());
	CHECK(!w.has_files && !fstat(STDOUT_FILENO, &st));
	/* It is waited for. */
	CHECK(waitpid(-1, NULL, __WALL) == -1 && errno == ECHILD);
}

static void open_null(void *arg)
{
	*(int *)arg = open("/dev/null", O_RDONLY | O_CLOEXEC);
}

/* What one opens that has all of our files is ours. */
static void test_all_files(void)
{
	struct ow_delegate_limits all = patient;
	struct work w = { 0 };
	int fd = -1;

	all.kept = OW_DELEGATE_ALL_FILES;
	CHECK(ow_delegate_run(do_steps, &w, &all, NULL) == OW_DELEGATION_DONE);
	CHECK(w.has_files);
	CHECK(ow_delegate_run(open_null, &fd, &all, NULL) ==
	      OW_DELEGATION_DONE);
	CHECK(fd > 0 && close(fd) == 0);
}

static void test_given_up(void)
{
	struct work w = { 0 };
	struct ow_delegate_limits until = patient;

	CHECK(ow_delegate_run(wait_for_ever, &w, &brief, NULL) ==
	      OW_DELEGATION_GIVEN_UP);
	CHECK(w.steps == 1);
	until.until_ns = ow_now_ns() + SECOND / 20;
	CHECK(ow_delegate_run(wait_for_ever, &w, &until, NULL) ==
	      OW_DELEGATION_GIVEN_UP);
	CHECK(waitpid(-1, NULL, __WALL) == -1 && errno == ECHILD);
	/* The next one is none the worse. */
	w.steps = 0;
	CHECK(ow_delegate_run(do_steps, &w, &patient, NULL) ==
	      OW_DELEGATION_DONE);
	CHECK(w.steps == 1000);
}

static void test_done_late(void)
{
	struct work w = { 0 };

	is_slow = true;
	CHECK(ow_delegate_run(end_late, &w, &patient, NULL) ==
	      OW_DELEGATION_DONE);
	is_slow = false;
	CHECK(w.steps == 1);
	CHECK(waitpid(-1, NULL, __WALL) == -1 && errno == ECHILD);
}

/* 5 ms of work, which take much longer where another process has the CPU. */
static void work_without_cpu(void *arg)
{
	struct work *w = arg;
	struct timespec t;

	if (nice(19) == -1)
		return;
	ow_delegate_enter();
	do
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	while (t.tv_sec == 0 && t.tv_nsec < 5000000);
	ow_delegate_leave();
	w->steps = 1;
}

static bool stay_on_one_cpu(cpu_set_t *old)
{
	cpu_set_t one;

	CPU_ZERO(&one);
	CPU_SET((size_t)sched_getcpu(), &one);
	return !sched_getaffinity(0, sizeof(*old), old) &&
	       !sched_setaffinity(0, sizeof(one), &one);
}

static void test_starved(void)
{
	struct ow_delegate_limits limits = { SECOND / 4, UINT64_MAX, 0 };
	struct work w = { 0 };
	cpu_set_t old;
	pid_t rival;

	CHECK(stay_on_one_cpu(&old));
	rival = fork();
	if (rival == 0)
		prctl(PR_SET_PDEATHSIG, SIGKILL);
	while (rival == 0)
		continue;
	CHECK(ow_delegate_run(work_without_cpu, &w, &limits, NULL) ==
	      OW_DELEGATION_DONE);
	CHECK(w.steps == 1);
	kill(rival, SIGKILL);
	CHECK(waitpid(rival, NULL, 0) == rival);
	CHECK(!sched_setaffinity(0, sizeof(old), &old));
}

static void sleep_in_call(void *nap)
{
	ow_delegate_enter();
	nanosleep(nap, NULL);
	ow_delegate_leave();
}

/* A process that stops us from 0.2 s on for 1.7 s, as a host may stop a machine. */
static pid_t start_stopper(void)
{
	pid_t us = getpid(), pid = fork();

	if (pid)
		return pid;
	usleep(200000);
	kill(us, SIGSTOP);
	usleep(1700000);
	kill(us, SIGCONT);
	_exit(0);
}

/* Time in which we could not look doesn't count. */
static void test_standstill(void)
{
	const struct ow_delegate_limits limits = { .call_ns = 1000000000,
						   .until_ns = UINT64_MAX };
	struct timespec nap = { 2, 200000000 };
	pid_t stopper = start_stopper();

	CHECK(ow_delegate_run(sleep_in_call, &nap, &limits, NULL) ==
	      OW_DELEGATION_DONE);
	waitpid(stopper, NULL, 0);
}

static void test_nested(void)
{
	struct work w = { .inner = OW_DELEGATION_NONE };

	CHECK(ow_delegate_run(give_on, &w, &patient, NULL) ==
	      OW_DELEGATION_DONE);
	CHECK(w.inner == OW_DELEGATION_GIVEN_UP && w.steps == 1000);
}

static void test_ends_itself(void)
{
	CHECK(ow_delegate_run(break_down, NULL, &patient, NULL) ==
	      OW_DELEGATION_GIVEN_UP);
}

static void crash(void *arg)
{
	(void)arg;
	raise(SIGKILL);
}

/* What it shared with us may be damaged. */
static void test_crash(void)
{
	pid_t child = fork();
	int status;

	if (child == 0) {
		ow_delegate_run(crash, NULL, &patient, NULL);
		_exit(0);
	}
	CHECK(waitpid(child, &status, 0) == child && WIFSIGNALED(status) &&
	      WTERMSIG(status) == SIGKILL);
}

static volatile sig_atomic_t came;

static void note(int number)
{
	came = number;
}

/* A signal that ends programs ends the wait, and comes when all is over. */
static void test_signal(void)
{
	struct sigaction action = { .sa_handler = note };
	struct work w = { 0 };
	pid_t us = getpid(), child = fork();

	if (child == 0) {
		usleep(50000);
		kill(us, SIGTERM);
		_exit(0);
	}
	sigaction(SIGTERM, &action, NULL);
	CHECK(ow_delegate_run(wait_for_ever, &w, &patient, NULL) ==
	      OW_DELEGATION_GIVEN_UP);
	CHECK(came == SIGTERM && w.steps == 1);
	CHECK(waitpid(child, NULL, 0) == child);
}

static void wait_unguarded(void *arg)
{
	(void)arg;
	for (;;)
		pause();
}

/* A call that nobody has said of that it may wait. */
static void test_unguarded(void)
{
	pid_t child = fork(), ended = 0;
	int status = 0, i;

	if (child == 0) {
		signal(SIGTERM, SIG_DFL);
		ow_delegate_run(wait_unguarded, NULL, &patient, NULL);
		_exit(0);
	}
	usleep(50000);
	kill(child, SIGTERM);
	for (i = 0; i < 2000 && ended == 0; i++) {
		usleep(10000);
		ended = waitpid(child, &status, WNOHANG);
	}
	CHECK(ended == child && WIFSIGNALED(status) &&
	      WTERMSIG(status) == SIGTERM);
	if (ended == 0)
		kill(child, SIGKILL);
}

/* What it finds in errno after so long that its state has been looked at. */
static void keep_errno(void *arg)
{
	uint64_t end = ow_now_ns() + SECOND / 2;
	struct work *w = arg;

	errno = EXFULL;
	while (ow_now_ns() < end)
		continue;
	w->steps = errno;
}

/* The next process of this namespace gets that number. */
static void go_to_number(pid_t pid)
{
	FILE *last = fopen("/proc/sys/kernel/ns_last_pid", "w");

	if (!last || fprintf(last, "%d", pid - 1) < 0 || fclose(last))
		_exit(77);
}

/* Delegates have numbers that outside no process has, and one that has a CPU. */
static void run_apart(pid_t gone, pid_t rival)
{
	struct work w = { 0 };
	uint64_t begun;

	go_to_number(gone);
	if (ow_delegate_run(keep_errno, &w, &brief, NULL) !=
		    OW_DELEGATION_DONE ||
	    w.steps != EXFULL)
		_exit(1);
	go_to_number(rival);
	begun = ow_now_ns();
	if (ow_delegate_run(wait_for_ever, &w, &patient_apart, NULL) !=
	    OW_DELEGATION_GIVEN_UP)
		_exit(2);
	_exit(ow_now_ns() - begun < 3 * SECOND ? 0 : 3);
}

/* /proc may tell of another pid namespace, and numbers be other processes' there. */
static void test_other_numbers(void)
{
	pid_t gone = fork(), rival, between, apart;
	int status = 0;

	if (gone == 0)
		_exit(0);
	CHECK(waitpid(gone, NULL, 0) == gone);
	rival = fork();
	if (rival == 0)
		prctl(PR_SET_PDEATHSIG, SIGKILL);
	while (rival == 0)
		continue;
	between = fork();
	if (between == 0) {
		if (unshare(CLONE_NEWPID))
			_exit(77);
		apart = fork();
		if (apart == 0)
			run_apart(gone, rival);
		waitpid(apart, &status, 0);
		_exit(WIFEXITED(status) ? WEXITSTATUS(status) : 4);
	}
	CHECK(waitpid(between, &status, 0) == between && WIFEXITED(status));
	CHECK(WEXITSTATUS(status) == 0 || WEXITSTATUS(status) == 77);
	if (WEXITSTATUS(status) != 0)
		printf("# status %d\n", WEXITSTATUS(status));
	kill(rival, SIGKILL);
	CHECK(waitpid(rival, NULL, 0) == rival);
}

/* Outside of a delegate both do nothing. */
static void test_no_delegate(void)
{
	ow_delegate_enter();
	ow_delegate_leave();
	CHECK(!ow_delegate_must_end());
}

static const struct test tests[] = {
	{ "what is done, by a process without our files", test_done },
	{ "what is done just after a look at it", test_done_late },
	{ "one that has all files", test_all_files },
	{ "a call that does not end", test_given_up },
	{ "a call that lacks but a CPU", test_starved },
	{ "a call while nobody could look", test_standstill },
	{ "a delegate's own", test_nested },
	{ "one that ends itself", test_ends_itself },
	{ "one that a signal ends", test_crash },
	{ "a signal that ends programs", test_signal },
	{ "a signal while a call waits that was not to", test_unguarded },
	{ "numbers of another pid namespace", test_other_numbers },
	{ "no delegate", test_no_delegate },
};

int main(void)
{
	return test_main(tests, OW_ARRAY_SIZE(tests));
}
