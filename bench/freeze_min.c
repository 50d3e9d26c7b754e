// SPDX-License-Identifier: BSD-2-Clause
/*
 * The least that a stop of all threads can be: seize, interrupt, wait, read
 * registers, read memory once, detach.  Prints the time from the first thread
 * interrupted to the last one let go, in ns.
 * usage: freeze_min PID BYTES-OF-EACH-STACK
 */
#include <dirent.h>
#include <elf.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <time.h>

#define MOST_THREADS 20000
#define SETTLE_NS    1500000
#define MOST_BYTES   (64 << 20)

static int tids[MOST_THREADS];
static struct user_regs_struct regs[MOST_THREADS];
static struct iovec local[MOST_THREADS], remote[MOST_THREADS];
static char copies[MOST_BYTES];

static uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + ts.tv_nsec;
}

static int list(int pid)
{
	struct dirent *entry;
	char path[32];
	int nr = 0;
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	dir = opendir(path);
	while (dir && nr < MOST_THREADS && (entry = readdir(dir)))
		if (atoi(entry->d_name) > 0)
			tids[nr++] = atoi(entry->d_name);
	return nr;
}

int main(int argc, char **argv)
{
	int pid = argc == 3 ? atoi(argv[1]) : 0, nr = list(pid), i, status, n;
	size_t bytes = argc == 3 ? strtoul(argv[2], NULL, 10) : 0;
	uint64_t start;

	if (nr == 0 || bytes == 0 || bytes > MOST_BYTES / (size_t)nr) {
		fprintf(stderr, "freeze_min: no such process, or too much\n");
		return 1;
	}
	for (i = 0; i < nr; i++)
		if (ptrace(PTRACE_SEIZE, tids[i], NULL, NULL)) {
			perror("PTRACE_SEIZE");
			return 1;
		}
	for (i = 0; i < nr; i++) {
		regs[i].rsp = 0;
		local[i] = (struct iovec){ copies + i * bytes, bytes };
	}
	memset(copies, 1, nr * bytes);
	/*
	 * Whoever started this has just slept on another CPU, which falls
	 * asleep for good only later: as deep as after any tool's own start.
	 */
	for (start = now_ns(); now_ns() - start < SETTLE_NS;)
		;
	start = now_ns();
	for (i = 0; i < nr; i++)
		ptrace(PTRACE_INTERRUPT, tids[i], NULL, NULL);
	for (i = 0; i < nr; i++)
		waitpid(tids[i], &status, __WALL);
	for (i = 0; i < nr; i++) {
		struct iovec iov = { &regs[i], sizeof(regs[i]) };

		ptrace(PTRACE_GETREGSET, tids[i], NT_PRSTATUS, &iov);
		remote[i] = (struct iovec){ (void *)regs[i].rsp, bytes };
	}
	for (i = 0; i < nr; i += n) {
		n = nr - i < IOV_MAX ? nr - i : IOV_MAX;
		process_vm_readv(pid, local + i, n, remote + i, n, 0);
	}
	for (i = 0; i < nr; i++)
		ptrace(PTRACE_DETACH, tids[i], NULL, NULL);
	printf("%llu\n", (unsigned long long)(now_ns() - start));
	return 0;
}
