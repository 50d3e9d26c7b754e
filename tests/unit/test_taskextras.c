// SPDX-License-Identifier: BSD-2-Clause
/* What /proc tells of threads that wait in the kernel. */
#include <errno.h>
#include <outwind/outwind.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "arch.h"
#include "syscalls.h"
#include "taskextras.h"
#include "test.h"

#define ALL (OW_EXTRA_SYSCALL | OW_EXTRA_WCHAN | OW_EXTRA_KERNEL_STACK)

static void test_parse(void)
{
	uint64_t args[6] = { 9, 9, 9, 9, 9, 9 }, pc = 8;

	CHECK(ow_taskextras_parse_syscall("running\n", args, &pc) ==
	      OW_SYSCALL_NONE);
	CHECK(ow_taskextras_parse_syscall("-1 0x7ffe0 0x401000\n", args, &pc) ==
	      OW_SYSCALL_NONE);
	CHECK(ow_taskextras_parse_syscall("", args, &pc) == OW_SYSCALL_UNKNOWN);
	CHECK(ow_taskextras_parse_syscall("x", args, &pc) ==
	      OW_SYSCALL_UNKNOWN);
	CHECK(ow_taskextras_parse_syscall("-2 0x0 0x0", args, &pc) ==
	      OW_SYSCALL_UNKNOWN);
	CHECK(ow_taskextras_parse_syscall("99999999999 0 0 0 0 0 0", args,
					  &pc) == OW_SYSCALL_UNKNOWN);
	CHECK(ow_taskextras_parse_syscall("7 0x1 0x2 0x3 0x4 0x5", args, &pc) ==
	      OW_SYSCALL_UNKNOWN);
	CHECK(ow_taskextras_parse_syscall("7 0x1 0x2 0x3 0x4 0x5 0x6 0x7f00",
					  args, &pc) == OW_SYSCALL_UNKNOWN);
	CHECK(args[0] == 9 && args[5] == 9 && pc == 8);
	CHECK(ow_taskextras_parse_syscall(
		      "202 0x7f0123456789 0x80 0x0 0xffffffffffffffff 0x5 0x6 "
		      "0x7ffe00000000 0x7f0000000001\n",
		      args, &pc) == 202);
	CHECK(args[0] == 0x7f0123456789 && args[1] == 0x80 && args[2] == 0 &&
	      args[3] == ~(uint64_t)0 && args[4] == 5 && args[5] == 6 &&
	      pc == 0x7f0000000001);
}

static void test_names(void)
{
	CHECK(strcmp(ow_syscall_name(&ow_arch_x86_64, 0), "read") == 0);
	CHECK(strcmp(ow_syscall_name(&ow_arch_x86_64, 202), "futex") == 0);
	CHECK(strcmp(ow_syscall_name(&ow_arch_x86_64, 230),
		     "clock_nanosleep") == 0);
	CHECK(strcmp(ow_syscall_name(&ow_arch_x86_64, 435), "clone3") == 0);
	CHECK(strcmp(ow_syscall_name(&ow_arch_i386, 1), "exit") == 0);
	CHECK(strcmp(ow_syscall_name(&ow_arch_i386, 422), "futex_time64") == 0);
	CHECK(strcmp(ow_syscall_name(&ow_arch_aarch64, 25), "fcntl") == 0);
	CHECK(strcmp(ow_syscall_name(&ow_arch_aarch64, 98), "futex") == 0);
	CHECK(strcmp(ow_syscall_name(&ow_arch_aarch64, 222), "mmap") == 0);
	CHECK(strcmp(ow_syscall_name(&ow_arch_aarch64, 64), "write") == 0);
	CHECK(!ow_syscall_name(&ow_arch_x86_64, -1));
	CHECK(!ow_syscall_name(&ow_arch_x86_64, 400)); /* a gap */
	CHECK(!ow_syscall_name(&ow_arch_aarch64, 244));
	CHECK(!ow_syscall_name(&ow_arch_x86_64, 1 << 30));
	CHECK(!ow_syscall_name(NULL, 0));
}

/* A child that is for ever in the system call with these arguments. */
static pid_t child_in(long nr, const long *args)
{
	pid_t pid = fork();

	if (pid == 0) {
		syscall(nr, args[0], args[1], args[2], args[3], args[4],
			args[5]);
		_exit(1);
	}
	return pid;
}

static void free_strings(struct ow_thread *t)
{
	free((char *)t->wchan);
	free((char *)t->kernel_stack);
	*t = (struct ow_thread){ 0 };
}

/* What is told of the child once it is there; false if it never is. */
static bool read_when_in(pid_t pid, int nr, struct ow_thread *t)
{
	const struct timespec ms = { 0, 1000000 };
	uint64_t pc;
	int i;

	for (i = 0; i < 300000; i++) {
		ow_taskextras_read(pid, pid, ALL, t, &pc);
		if (t->syscall_nr == nr)
			return true;
		free_strings(t);
		nanosleep(&ms, NULL);
	}
	return false;
}

static void end_child(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

/* The kernel's symbol may have suffixes, but not lack its name. */
static void check_call(long nr, const long args[6], const char *in_kernel)
{
	struct ow_thread t = { 0 };
	pid_t pid = child_in(nr, args);
	bool there = read_when_in(pid, nr, &t);
	int i;

	CHECK(there);
	for (i = 0; there && i < 6; i++)
		CHECK(t.syscall_args[i] == (uint64_t)args[i]);
	CHECK(!there || t.wchan);
	if (geteuid() == 0 && there) {
		CHECK(t.extras_errno == 0);
		CHECK(t.kernel_stack && strstr(t.kernel_stack, in_kernel));
		CHECK(t.kernel_stack && !strstr(t.kernel_stack, "[<"));
		CHECK(t.kernel_stack &&
		      t.kernel_stack[strlen(t.kernel_stack) - 1] == '\n');
	}
	free_strings(&t);
	end_child(pid);
}

static void test_pause(void)
{
	const long args[6] = { 11, 22, 33, 44, 55, 0x7fffffffffffffff };

	check_call(SYS_pause, args, "pause");
}

static void test_read(void)
{
	char buf[77];
	int fds[2];

	CHECK(pipe(fds) == 0);
	check_call(SYS_read,
		   (long[6]){ fds[0], (long)buf, sizeof(buf), 4, 5, 6 },
		   "pipe_read");
	close(fds[0]);
	close(fds[1]);
}

static void test_nanosleep(void)
{
	const struct timespec hour = { 3600, 0 };

	check_call(SYS_nanosleep, (long[6]){ (long)&hour, 0, 3, 4, 5, -6 },
		   "nanosleep");
}

/* A thread of the process's that runs, in no system call. */
static void test_running(void)
{
	const struct timespec ms = { 0, 1000000 };
	struct ow_thread t = { 0 };
	uint64_t pc;
	volatile int *runs = mmap(NULL, sizeof(*runs), PROT_READ | PROT_WRITE,
				  MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pid_t pid = fork();
	int i;

	if (pid == 0)
		for (;;)
			*runs = 1;
	while (!*runs)
		nanosleep(&ms, NULL);
	for (i = 0; i < 100; i++) {
		ow_taskextras_read(pid, pid, ALL, &t, &pc);
		CHECK(t.syscall_nr == OW_SYSCALL_NONE);
		CHECK(t.wchan && t.wchan[0] == '\0');
		free_strings(&t);
		nanosleep(&ms, NULL);
	}
	end_child(pid);
	munmap((void *)runs, sizeof(*runs));
}

static void test_gone(void)
{
	struct ow_thread t = { .syscall_nr = 5 };
	uint64_t pc = 8;
	pid_t pid = fork();

	if (pid == 0)
		_exit(0);
	waitpid(pid, NULL, 0);
	ow_taskextras_read(pid, pid, ALL, &t, &pc);
	CHECK(t.syscall_nr == OW_SYSCALL_UNKNOWN && pc == 0);
	CHECK(!t.wchan && !t.kernel_stack);
	CHECK(t.extras_errno == ENOENT);
}

static void test_not_asked(void)
{
	struct ow_thread t = { .syscall_nr = 5 };
	uint64_t pc = 8;

	ow_taskextras_read(getpid(), getpid(), 0, &t, &pc);
	CHECK(t.syscall_nr == OW_SYSCALL_UNKNOWN && pc == 0);
	CHECK(!t.wchan && !t.kernel_stack && t.extras_errno == 0);
}

int main(void)
{
	static const struct test tests[] = {
		{ "the syscall file's forms", test_parse },
		{ "names of system calls", test_names },
		{ "pause, with what was in the registers", test_pause },
		{ "read of a pipe", test_read },
		{ "nanosleep", test_nanosleep },
		{ "a running thread", test_running },
		{ "a thread that is gone", test_gone },
		{ "nothing asked for", test_not_asked },
	};

	return test_main(tests, OW_ARRAY_SIZE(tests));
}
