// SPDX-License-Identifier: BSD-2-Clause
/* Whose threads are taken hold of. */
#include "stopper.h"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "monotonic.h"
#include "procfs.h"
#include "test.h"

static pid_t start_child(void)
{
	pid_t child = fork();

	if (child == 0)
		for (;;)
			pause();
	if (child < 0)
		abort();
	return child;
}

static int open_tasks(pid_t pid)
{
	char path[32];
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		abort();
	return fd;
}

static void test_own(void)
{
	pid_t child = start_child();
	int tasks = open_tasks(child);
	struct ow_stop s;

	CHECK(ow_tasks_has(tasks, child));
	CHECK(ow_stop_seize(&s, tasks, child, child));
	ow_stop_interrupt(&s);
	ow_stop_wait(&s, ow_now_ns() + 10000000000);
	CHECK(s.state == OW_STOP_STOPPED && s.by_us && !s.gone);
	ow_stop_release(&s);
	CHECK(ow_status_number(child, "TracerPid:") == 0);
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	CHECK(!ow_tasks_has(tasks, child));
	CHECK(!ow_stop_seize(&s, tasks, child, child) && s.gone);
	close(tasks);
}

/* The id is of another process than the one whose threads are looked at. */
static void test_foreign(void)
{
	pid_t child = start_child(), other = start_child();
	int tasks = open_tasks(child);
	struct ow_stop s;

	CHECK(!ow_tasks_has(tasks, other));
	CHECK(!ow_stop_seize(&s, tasks, child, other));
	CHECK(s.gone && s.state == OW_STOP_NONE);
	CHECK(s.why.code == OW_CODE_ABSENT);
	CHECK(ow_status_number(other, "TracerPid:") == 0);
	kill(child, SIGKILL);
	kill(other, SIGKILL);
	waitpid(child, NULL, 0);
	waitpid(other, NULL, 0);
	close(tasks);
}

static int wait_for_ever(void *arg)
{
	(void)arg;
	for (;;)
		pause();
	return 0;
}

/*
 * A child that starts a thread, or a process, when it is told: such a one is traced by
 * who traces the child then.
 */
static pid_t start_cloner(int flags, int *to_child, int *from_child)
{
	static uint8_t stack[64 << 10] __attribute__((aligned(16)));
	int up[2], down[2];
	pid_t child, born;
	char c;

	if (pipe(up) || pipe(down) || (child = fork()) < 0)
		abort();
	if (child > 0) {
		close(up[1]);
		close(down[0]);
		*to_child = down[1];
		*from_child = up[0];
		return child;
	}
	if (read(down[0], &c, 1) != 1)
		_exit(1);
	born = clone(wait_for_ever, stack + sizeof(stack),
		     CLONE_VM | CLONE_PTRACE | flags, NULL);
	if (write(up[1], &born, sizeof(born)) != sizeof(born))
		_exit(1);
	for (;;)
		pause();
}

/* Seize a cloner, have it start what is ours then, and return the id of that. */
static pid_t have_born(pid_t child, int tasks, int to_child, int from_child,
		       struct ow_stop *s)
{
	pid_t born = 0;

	CHECK(ow_stop_seize(s, tasks, child, child));
	CHECK(write(to_child, "x", 1) == 1);
	CHECK(read(from_child, &born, sizeof(born)) == sizeof(born));
	CHECK(born > 0);
	CHECK(ow_status_number(born, "TracerPid:") == getpid());
	close(to_child);
	close(from_child);
	return born;
}

static void let_go(struct ow_stop *s)
{
	ow_stop_interrupt(s);
	ow_stop_wait(s, ow_now_ns() + 10000000000);
	CHECK(s->state == OW_STOP_STOPPED && s->by_us);
	ow_stop_release(s);
	CHECK(ow_status_number(s->tid, "TracerPid:") == 0);
}

/* A thread that a seized one has made ours is taken like any other. */
static void test_born_ours(void)
{
	int to, from, tasks;
	pid_t child = start_cloner(CLONE_THREAD | CLONE_SIGHAND, &to, &from);
	struct ow_stop first, second;
	uint8_t regs[512];
	pid_t born;

	tasks = open_tasks(child);
	born = have_born(child, tasks, to, from, &first);
	CHECK(ow_stop_seize(&second, tasks, child, born));
	ow_stop_interrupt(&second);
	ow_stop_wait(&second, ow_now_ns() + 10000000000);
	CHECK(ow_stop_regs(&second, regs, sizeof(regs)) > 0);
	let_go(&second);
	let_go(&first);
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	close(tasks);
}

/* A process that nobody asked for goes on at once. */
static void test_born_unwanted(void)
{
	int to, from, tasks, status, i;
	pid_t child = start_cloner(0, &to, &from), born, got = 0;
	struct ow_stop first;

	tasks = open_tasks(child);
	born = have_born(child, tasks, to, from, &first);
	for (i = 0; i < 10000 && got == 0; i++) {
		got = ow_stop_next(&status);
		usleep(1000);
	}
	CHECK(got == born);
	ow_stop_settle(NULL, got, status);
	CHECK(ow_status_number(born, "TracerPid:") == 0);
	CHECK(ow_stop_next(&status) == 0);
	let_go(&first);
	kill(born, SIGKILL);
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	close(tasks);
}

int main(void)
{
	static const struct test tests[] = {
		{ "a thread of the process", test_own },
		{ "a thread of another process", test_foreign },
		{ "a thread that is ours from its start on", test_born_ours },
		{ "a process that is so", test_born_unwanted },
	};

	return test_main(tests, OW_ARRAY_SIZE(tests));
}
