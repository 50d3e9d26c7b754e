// SPDX-License-Identifier: BSD-2-Clause
/*
 * What kwtest.ko took of this program's stack in each context, against its own
 * functions: a chain of recursion that only the unwinder sees to its end.
 */
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <outwind/kunwind.h>
#include <outwind/outwind.h>

#define DEPTH    60
#define NOINLINE __attribute__((noinline, noclone))

static int passed, failed, whose; /* the last: kwtest's parameter pid */
static uintptr_t again;           /* where recurse() returns to in itself */

static void say(bool well, const char *name, const char *what, long got)
{
	passed += well;
	failed += !well;
	if (!well)
		printf("not ok - %s: %s (%ld)\n", name, what, got);
}

static void check(const char *name)
{
	unsigned long taken = 0, nmi, irq, unsupported, pc;
	int end = -1, nr = 0, inside = 0, i;
	char path[64];
	FILE *f;

	snprintf(path, sizeof(path), "/sys/kernel/debug/kwtest/%s", name);
	f = fopen(path, "re");
	if (!f || fscanf(f,
			 "taken %lu nmi %lu irq %lu unsupported %lu end %d "
			 "nr %d",
			 &taken, &nmi, &irq, &unsupported, &end, &nr) != 6) {
		say(false, name, "no report", 0);
		return;
	}
	for (i = 0; i < nr && fscanf(f, "%lx", &pc) == 1; i++)
		inside += pc == again;
	fclose(f);
	say(taken > 0, name, "taken", (long)taken);
	say(unsupported == 0, name, "unsupported", (long)unsupported);
	say(end == OW_END_OUTERMOST, name, ow_end_text(end), nr);
	say(inside == DEPTH, name, "frames of the recursion", inside);
	printf("# %s: %lu taken, %lu in NMI, %lu in interrupts, %d frames\n",
	       name, taken, nmi, irq, nr);
}

/* NMIs for all CPUs but the one that asks for them. */
static void send_nmis(void)
{
	cpu_set_t other;
	int fd, i;

	CPU_ZERO(&other);
	CPU_SET(1, &other);
	sched_setaffinity(0, sizeof(other), &other);
	for (i = 0; i < 20; i++) {
		fd = open("/proc/sysrq-trigger", O_WRONLY | O_CLOEXEC);
		if (fd < 0 || write(fd, "l", 1) != 1)
			_exit(1);
		close(fd);
		usleep(100000);
	}
	_exit(0);
}

static NOINLINE void recurse(unsigned int depth);

/* Whose stacks are taken: a system call here, by way of no other function. */
static inline __attribute__((always_inline)) bool set_pid(const char *text,
							  size_t len)
{
	long ret;

	__asm__ volatile("syscall"
			 : "=a"(ret)
			 : "0"(1L), "D"((long)whose), "S"(text), "d"(len)
			 : "rcx", "r11", "memory");
	return ret == (long)len;
}

static inline __attribute__((always_inline)) void busy(void)
{
	volatile unsigned long n;

	for (n = 0; n < 2000000; n++)
		;
}

/* Much of the time in a stub of the program's. */
static inline __attribute__((always_inline)) void call_stubs(void)
{
	unsigned int n;

	for (n = 0; n < 200000; n++)
		(void)rand();
}

static NOINLINE void spin(void)
{
	pid_t child = fork();
	unsigned int i;
	bool stopped;

	if (child == 0)
		send_nmis();
	for (i = 0; i < 50; i++) {
		busy();
		call_stubs();
		syscall(SYS_getppid);
	}
	/* The last stacks are of here, and don't change while they are read. */
	busy();
	stopped = set_pid("0", 1);
	say(stopped, "all", "stop", 0);
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
}

static NOINLINE void read_all(void)
{
	check("syscall");
	check("deferred");
	check("timer");
	check("event");
	check("nmi");
}

static NOINLINE void recurse(unsigned int depth)
{
	volatile char fill[40];

	fill[0] = (char)depth;
	if (depth == 0) {
		again = (uintptr_t)__builtin_return_address(0);
		spin();
		read_all();
	} else {
		recurse(depth - 1);
	}
	fill[1] = fill[0];
}

int main(void)
{
	struct ow_error err;
	char self[16];
	int dev;

	setvbuf(stdout, NULL, _IOLBF, 0);
	dev = ow_kunwind_open(&err);
	if (dev < 0 || ow_kunwind_follow(dev, 0, 0, &err)) {
		printf("%s\n0 passed, 1 failed\n", err.msg);
		return 1;
	}
	whose = open("/sys/module/kwtest/parameters/pid", O_WRONLY | O_CLOEXEC);
	snprintf(self, sizeof(self), "%d", (int)getpid());
	if (!set_pid(self, strlen(self))) {
		puts("kwtest.ko is not there\n0 passed, 1 failed");
		return 1;
	}
	recurse(DEPTH);
	printf("%d passed, %d failed\n", passed, failed);
	return failed != 0;
}
