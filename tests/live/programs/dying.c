/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Preloaded into outwind: when it asks for the registers of thread $DYING_TID,
 * which it has stopped, that thread or ($DYING_HOW is "process") its process
 * ends first.  What was done is said in the file $DYING_SAYS.  x86-64 only.
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <unistd.h>

typedef long ptrace_function(enum __ptrace_request, pid_t, void *, void *);

static ptrace_function *real;

/* It waits in a system call: it goes back to that instruction, as exit(0). */
static int end_thread(pid_t tid)
{
	struct user_regs_struct regs;

	if (real(PTRACE_GETREGS, tid, NULL, &regs))
		return -1;
	regs.rip -= 2;
	regs.rax = 60;
	regs.orig_rax = -1;
	regs.rdi = 0;
	if (real(PTRACE_SETREGS, tid, NULL, &regs))
		return -1;
	return (int)real(PTRACE_CONT, tid, NULL, NULL);
}

static int has_regs(pid_t tid)
{
	struct user_regs_struct regs;

	return real(PTRACE_GETREGS, tid, NULL, &regs) == 0;
}

/* Not waited for: a leader would not be reported before its threads are. */
static void end(pid_t tid)
{
	const char *how = getenv("DYING_HOW"), *says = getenv("DYING_SAYS");
	int is_process = how && strcmp(how, "process") == 0;
	int fd, tries = 5000;

	if (is_process ? kill(tid, SIGKILL) : end_thread(tid))
		return;
	do
		usleep(1000);
	while (has_regs(tid) && --tries);
	fd = says && tries ? open(says, O_WRONLY | O_CREAT | O_APPEND, 0600) :
			     -1;
	if (fd < 0 || write(fd, "dead\n", 5) != 5)
		return;
	close(fd);
}

long ptrace(enum __ptrace_request request, ...)
{
	const char *tid = getenv("DYING_TID");
	void *addr, *data;
	va_list ap;
	pid_t of;

	va_start(ap, request);
	of = va_arg(ap, pid_t);
	addr = va_arg(ap, void *);
	data = va_arg(ap, void *);
	va_end(ap);
	if (!real)
		*(void **)&real = dlsym(RTLD_NEXT, "ptrace");
	if ((request == PTRACE_GETREGSET || request == PTRACE_GETREGS) && tid &&
	    of == atoi(tid))
		end(of);
	return real(request, of, addr, data);
}
