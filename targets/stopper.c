// SPDX-License-Identifier: BSD-2-Clause
#include "stopper.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include "delegate.h"
#include "error.h"
#include "monotonic.h"
#include "procfs.h"

#define SPIN_NS   100000    /* of polls before sleeping between them */
#define NAP_NS    1000000   /* at most: another thread may get our SIGCHLD */
#define LET_GO_NS 100000000 /* for another process's thread to stop in */

/* Does Yama's setting forbid what permissions would allow? (Linux, Yama.rst) */
static bool yama_forbids(void)
{
	_cleanup_(ow_closep) int fd = open("/proc/sys/kernel/yama/ptrace_scope",
					   O_RDONLY | O_CLOEXEC);
	char level = '0';

	return fd >= 0 && read(fd, &level, 1) == 1 && level > '0';
}

/* Say why a thread can't be seized. */
static void explain(struct ow_stop *s, pid_t pid, int os_errno)
{
	char name[32], state = '?';
	long tracer = ow_status_number(s->tid, "TracerPid:");
	bool is_unknown = tracer < 0 && errno == ETIME;

	/* While it exits, there is no permission either. */
	s->gone = os_errno == ESRCH ||
		  !ow_task_stat(pid, s->tid, name, sizeof(name), &state);
	/* No thread but the first one stays a zombie, unless it is traced. */
	if (s->tid != pid && tracer <= 0)
		s->gone |= state == 'Z' || state == 'X';
	if (s->gone)
		ow_fail(&s->why, OW_CODE_ABSENT, "thread has exited");
	else if (state == 'Z' || state == 'X')
		ow_fail(&s->why, OW_CODE_ABSENT,
			"thread has exited (zombie), it has no stack");
	else if (tracer > 0)
		ow_fail(&s->why, OW_CODE_PERMISSION,
			"thread is being traced by process %ld: end that first",
			tracer);
	else if (os_errno == EPERM && is_unknown)
		ow_fail(&s->why, OW_CODE_PERMISSION,
			"not allowed to stop it: another process may trace it "
			"(its status takes too long to read)");
	else if (os_errno == EPERM && yama_forbids() && geteuid() != 0)
		ow_fail(&s->why, OW_CODE_PERMISSION,
			"not allowed to stop it: run as root, or set "
			"kernel.yama.ptrace_scope to 0");
	else if (os_errno == EPERM && geteuid() == 0)
		ow_fail(&s->why, OW_CODE_PERMISSION,
			"not allowed to stop it: it is ending, or root is "
			"restricted here");
	else if (os_errno == EPERM)
		ow_fail(&s->why, OW_CODE_PERMISSION,
			"not allowed to stop it: run as its user or as root");
	else
		ow_fail(&s->why, OW_CODE_FAULT, "stop thread: %s",
			strerror(os_errno));
}

static void gone(struct ow_stop *s)
{
	s->state = OW_STOP_NONE;
	s->gone = true;
	ow_fail(&s->why, OW_CODE_ABSENT, "thread exited while being stopped");
}

void ow_stop_interrupt(struct ow_stop *s)
{
	if (s->state == OW_STOP_SEIZED &&
	    ptrace(PTRACE_INTERRUPT, s->tid, NULL, NULL) && errno == ESRCH)
		gone(s);
}

#define NO_CPU ", it got no CPU, or is busy in the kernel"

static void fail_late(struct ow_stop *s, const char *what)
{
	ow_fail(&s->why, OW_CODE_TIMEOUT, "thread did not stop in time%s",
		what);
}

/*
 * What waitpid() said.  A signal that came first is handed on at release; a
 * stop for our asking is told by SIGTRAP, one of job control by its signal
 * (ptrace(2), PTRACE_EVENT_STOP).  A thread that was late, and has stopped since, lacked a
 * CPU, as a rule.
 */
static void take_status(struct ow_stop *s, int status)
{
	int event = status >> 16;

	if (!WIFSTOPPED(status)) {
		gone(s);
		return;
	}
	if (s->is_late) {
		fail_late(s, NO_CPU);
		s->is_explained = true;
	}
	s->state = OW_STOP_STOPPED;
	s->signal = event ? 0 : WSTOPSIG(status);
	s->by_us = event == PTRACE_EVENT_STOP && WSTOPSIG(status) == SIGTRAP;
}

/* Until a child of ours stops, or for a short time. */
static void sleep_for_stop(uint64_t most_ns)
{
	struct timespec nap = { 0, most_ns < NAP_NS ? (long)most_ns : NAP_NS };
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	sigtimedwait(&set, NULL, &nap);
}

void ow_stop_explain_late(struct ow_stop *s)
{
	if (!s->is_late || s->is_explained)
		return;
	switch (ow_status_state(s->tid)) {
	case 'D': fail_late(s, ", it is in an uninterruptible call"); break;
	case 'R': fail_late(s, NO_CPU); break;
	}
	s->is_explained = true;
}

static void sleep_or_give_up(struct ow_stop *s, uint64_t deadline_ns)
{
	uint64_t now = ow_now_ns();

	s->is_late = now > deadline_ns;
	if (s->is_late)
		fail_late(s, "");
	else if (ow_delegate_must_end())
		ow_fail(&s->why, OW_CODE_TIMEOUT,
			"a signal came while the thread did not stop");
	else
		sleep_for_stop(deadline_ns - now);
}

unsigned int ow_stop_wait(struct ow_stop *s, uint64_t deadline_ns)
{
	uint64_t spin_until = ow_now_ns() + SPIN_NS;
	unsigned int sleeps = 0;
	int status;
	pid_t got;

	/* To yield may take as long as all have it that want the CPU. */
	if (spin_until > deadline_ns)
		spin_until = deadline_ns;
	while (s->state == OW_STOP_SEIZED && s->why.code == 0) {
		got = waitpid(s->tid, &status, __WALL | WNOHANG);
		if (got == s->tid) {
			take_status(s, status);
		} else if (got < 0 && errno != EINTR) {
			gone(s);
		} else if (ow_now_ns() < spin_until) {
			sched_yield();
		} else {
			sleep_or_give_up(s, deadline_ns);
			sleeps += s->why.code == 0;
		}
	}
	return sleeps;
}

void ow_stop_be_patient(struct ow_stop *s)
{
	s->is_late = s->is_explained = false;
	s->why = (struct ow_error){ 0 };
}

/* User-Mode Linux knows no sets of registers, but the older request. */
static size_t older_regs(pid_t tid, void *buf, size_t size)
{
#ifdef __x86_64__
	if (size >= sizeof(struct user_regs_struct) && errno == EIO &&
	    !ptrace(PTRACE_GETREGS, tid, NULL, buf))
		return sizeof(struct user_regs_struct);
#else
	(void)tid;
	(void)buf;
	(void)size;
#endif
	return 0;
}

size_t ow_stop_regs(const struct ow_stop *s, void *buf, size_t size)
{
	struct iovec iov = { buf, size };

	if (s->state != OW_STOP_STOPPED)
		return 0;
	if (ptrace(PTRACE_GETREGSET, s->tid, NT_PRSTATUS, &iov))
		return older_regs(s->tid, buf, size);
	return iov.iov_len;
}

/* struct user_desc of i386 (asm/ldt.h), as the set NT_386_TLS has them. */
struct descriptor {
	uint32_t number, base, limit, flags;
};

uint64_t ow_stop_tls(const struct ow_stop *s, unsigned int number)
{
	struct descriptor all[8];
	struct iovec iov = { all, sizeof(all) };
	size_t i;

	if (number == 0 || s->state != OW_STOP_STOPPED ||
	    ptrace(PTRACE_GETREGSET, s->tid, NT_386_TLS, &iov))
		return 0;
	for (i = 0; i < iov.iov_len / sizeof(all[0]); i++)
		if (all[i].number == number)
			return all[i].base;
	return 0;
}

/* Another thread of our program may wait for children of its own. */
pid_t ow_stop_next(int *status)
{
	pid_t tid = waitpid(-1, status, __WALL | __WNOTHREAD | WNOHANG);

	return tid > 0 ? tid : 0;
}

void ow_stop_settle(struct ow_stop *s, pid_t tid, int status)
{
	if (s && s->state == OW_STOP_SEIZED) {
		take_status(s, status);
	} else if (WIFSTOPPED(status)) {
		struct ow_stop other = { .tid = tid };

		take_status(&other, status);
		ow_stop_release(&other);
	}
}

void ow_stop_release(struct ow_stop *s)
{
	int status;

	/* One that was late may have stopped by now. */
	if (s->state == OW_STOP_SEIZED &&
	    waitpid(s->tid, &status, __WALL | WNOHANG) == s->tid)
		take_status(s, status);
	if (s->state == OW_STOP_STOPPED)
		ptrace(PTRACE_DETACH, s->tid, NULL,
		       (void *)(uintptr_t)s->signal);
	s->state = OW_STOP_NONE;
}

/*
 * One that we seize makes us trace, and stop, what it starts so (clone(2), CLONE_PTRACE;
 * Linux, ptrace_init_task()).
 */
static bool is_ours(pid_t tid)
{
	return ow_status_number(tid, "TracerPid:") == (long)gettid();
}

static bool seize(pid_t tid)
{
	long failed;
	int error;

	/* It waits while a thread executes a file (Linux, cred_guard_mutex). */
	ow_delegate_enter();
	failed = ptrace(PTRACE_SEIZE, tid, NULL, NULL);
	ow_delegate_leave();
	error = errno;
	if (!failed || (error == EPERM && is_ours(tid)))
		return true;
	errno = error;
	return false;
}

/* Only a thread that has stopped can be let go; one that does not, by our end. */
static void let_go(struct ow_stop *s)
{
	ow_stop_interrupt(s);
	ow_stop_wait(s, ow_now_ns() + LET_GO_NS);
	ow_stop_release(s);
}

static bool fail_gone(struct ow_stop *s)
{
	s->gone = true;
	ow_fail(&s->why, OW_CODE_ABSENT, "thread has exited");
	return false;
}

bool ow_stop_seize(struct ow_stop *s, int tasks, pid_t pid, pid_t tid)
{
	memset(s, 0, sizeof(*s));
	s->tid = tid;
	if (!ow_tasks_has(tasks, tid))
		return fail_gone(s);
	if (!seize(tid)) {
		explain(s, pid, errno);
		return false;
	}
	s->state = OW_STOP_SEIZED;
	/* From now on its number stays its own. */
	if (ow_tasks_has(tasks, tid))
		return true;
	let_go(s);
	return fail_gone(s);
}
