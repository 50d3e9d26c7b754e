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

static int passed, failed;
static uintptr_t lowest, highest; /* of recurse()'s code */

static void say(bool well, const char *name, const char *what, long got)
{
	passed += well;
	failed += !well;
	if (!well)
		printf("not ok - %s: %s (%ld)\n", name, what, got);
}

static void check(const char *name)
{
	unsigned long taken = 0, nmi, irq, pc;
	int end = -1, nr = 0, inside = 0, i;
	char path[64];
	FILE *f;

	snprintf(path, sizeof(path), "/sys/kernel/debug/kwtest/%s", name);
	f = fopen(path, "re");
	if (!f || fscanf(f, "taken %lu nmi %lu irq %lu end %d nr %d", &taken,
			 &nmi, &irq, &end, &nr) != 5) {
		say(false, name, "no report", 0);
		return;
	}
	for (i = 0; i < nr && fscanf(f, "%lx", &pc) == 1; i++)
		inside += pc > lowest && pc < highest;
	fclose(f);
	say(taken > 0, name, "taken", (long)taken);
	say(end == OW_END_OUTERMOST, name, ow_end_text(end), nr);
	say(inside == DEPTH + 1, name, "frames of the recursion", inside);
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

static NOINLINE void spin(void)
{
	pid_t child = fork();
	volatile unsigned long n;
	unsigned int i;

	if (child == 0)
		send_nmis();
	for (i = 0; i < 50; i++) {
		for (n = 0; n < 2000000; n++)
			;
		syscall(SYS_getppid);
	}
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
}

static NOINLINE void read_all(void)
{
	/* The last stacks of timers may be from within these reads: their
	   recursion is the same. */
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
		spin();
		read_all();
	} else {
		recurse(depth - 1);
	}
	fill[1] = fill[0];
}

static NOINLINE void behind(void)
{
	__asm__ volatile("nop");
}

int main(void)
{
	struct ow_error err;
	char line[64];
	FILE *f;
	int dev;

	setvbuf(stdout, NULL, _IOLBF, 0);
	lowest = (uintptr_t)recurse;
	highest = lowest + 128;
	behind();
	dev = ow_kunwind_open(&err);
	if (dev < 0 || ow_kunwind_follow(dev, 0, 0, &err)) {
		printf("%s\n0 passed, 1 failed\n", err.msg);
		return 1;
	}
	snprintf(line, sizeof(line), "%d\n", (int)getpid());
	f = fopen("/sys/module/kwtest/parameters/pid", "we");
	if (!f || fputs(line, f) < 0 || fclose(f)) {
		puts("kwtest.ko is not there\n0 passed, 1 failed");
		return 1;
	}
	recurse(DEPTH);
	printf("%d passed, %d failed\n", passed, failed);
	return failed != 0;
}
