// SPDX-License-Identifier: BSD-2-Clause
#include "stopper.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "error.h"
#include "procfs.h"

#define SPINS          200 /* polls before sleeping between them */
#define FIRST_NAP_NS   20000
#define LONGEST_NAP_NS 200000

uint64_t ow_now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + ts.tv_nsec;
}

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

	if (os_errno == ESRCH ||
	    !ow_task_stat(pid, s->tid, name, sizeof(name), &state))
		ow_fail(&s->why, OW_CODE_ABSENT, "thread has exited");
	else if (state == 'Z' || state == 'X')
		ow_fail(&s->why, OW_CODE_ABSENT,
			"thread has exited (zombie), it has no stack");
	else if (tracer > 0)
		ow_fail(&s->why, OW_CODE_PERMISSION,
			"thread is being traced by process %ld: end that first",
			tracer);
	else if (os_errno == EPERM && yama_forbids() && geteuid() != 0)
		ow_fail(&s->why, OW_CODE_PERMISSION,
			"not allowed to stop it: run as root, or set "
			"kernel.yama.ptrace_scope to 0");
	else if (os_errno == EPERM)
		ow_fail(&s->why, OW_CODE_PERMISSION,
			"not allowed to stop it: run as its user or as root");
	else
		ow_fail(&s->why, OW_CODE_FAULT, "stop thread: %s",
			strerror(os_errno));
}

void ow_stop_seize(struct ow_stop *s, pid_t pid, pid_t tid)
{
	memset(s, 0, sizeof(*s));
	s->tid = tid;
	if (ptrace(PTRACE_SEIZE, tid, NULL, NULL) == 0)
		s->state = OW_STOP_SEIZED;
	else
		explain(s, pid, errno);
}

static void gone(struct ow_stop *s)
{
	s->state = OW_STOP_NONE;
	ow_fail(&s->why, OW_CODE_ABSENT, "thread exited while being stopped");
}

void ow_stop_interrupt(struct ow_stop *s)
{
	if (s->state == OW_STOP_SEIZED &&
	    ptrace(PTRACE_INTERRUPT, s->tid, NULL, NULL) && errno == ESRCH)
		gone(s);
}

/* What waitpid() said.  A signal that came first is handed on at release. */
static void take_status(struct ow_stop *s, int status)
{
	if (!WIFSTOPPED(status)) {
		gone(s);
		return;
	}
	s->state = OW_STOP_STOPPED;
	s->signal = status >> 16 ? 0 : WSTOPSIG(status);
}

void ow_stop_wait(struct ow_stop *s, uint64_t deadline_ns)
{
	struct timespec nap = { 0, FIRST_NAP_NS };
	unsigned int spins = 0;
	int status;
	pid_t got;

	while (s->state == OW_STOP_SEIZED) {
		got = waitpid(s->tid, &status, __WALL | WNOHANG);
		if (got == s->tid) {
			take_status(s, status);
		} else if (got < 0 && errno != EINTR) {
			gone(s);
		} else if (spins++ < SPINS) {
			sched_yield();
		} else if (ow_now_ns() > deadline_ns) {
			ow_fail(&s->why, OW_CODE_FAULT,
				"thread did not stop in time, it is in an "
				"uninterruptible call");
			return;
		} else {
			nanosleep(&nap, NULL);
			if (nap.tv_nsec < LONGEST_NAP_NS)
				nap.tv_nsec *= 2;
		}
	}
}

size_t ow_stop_regs(struct ow_stop *s, void *buf, size_t size)
{
	struct iovec iov = { buf, size };

	if (s->state != OW_STOP_STOPPED ||
	    ptrace(PTRACE_GETREGSET, s->tid, NT_PRSTATUS, &iov))
		return 0;
	return iov.iov_len;
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
