// SPDX-License-Identifier: BSD-2-Clause
/*
 * largemaps COUNT UID: processes of a user that run code of a JIT for a moment and then
 * wait, each with a map for perf of 64 MiB, nearly all of it a hole.  There are so many
 * at a time, of which the oldest makes room for another one again and again.
 * largemaps 0 UID: it runs code of a JIT itself, whose map is a line.
 */
#include <grp.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>

#include "threads.h"

#define SIZE   ((off_t)64 << 20)
#define RUN_MS 30

/* push %rbp; mov %rsp,%rbp; mov $100000,%ecx; 1: dec %ecx; jnz 1b; pop %rbp; ret */
static const unsigned char work[] = { 0x55, 0x48, 0x89, 0xe5, 0xb9,
				      0xa0, 0x86, 0x01, 0x00, 0xff,
				      0xc9, 0x75, 0xfc, 0x5d, 0xc3 };

/* What is there ends with the processes. */
static void have_own_tmp(void)
{
	if (unshare(CLONE_NEWNS) ||
	    mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
	    mount("none", "/tmp", "tmpfs", 0, "mode=1777"))
		fail("mount");
}

static void become(uid_t uid)
{
	if (setgroups(0, NULL) || setgid(uid) || setuid(uid))
		fail("setuid");
	/* Its files in /proc are its own again. */
	prctl(PR_SET_DUMPABLE, 1);
}

static void path_of(char *path, pid_t pid)
{
	sprintf(path, "/tmp/perf-%d.map", pid);
}

static void (*make_code(off_t size))(void)
{
	unsigned char *code = mmap(NULL, 4096,
				   PROT_READ | PROT_WRITE | PROT_EXEC,
				   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	char path[64];
	FILE *f;

	path_of(path, getpid());
	f = fopen(path, "w");
	if (code == MAP_FAILED || !f)
		fail(path);
	memcpy(code, work, sizeof(work));
	fprintf(f, "%lx %zx JS:work\n", (unsigned long)code, sizeof(work));
	if (fclose(f) || (size && truncate(path, size)))
		fail(path);
	return (void (*)(void))code;
}

static long used_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static void run_one(void)
{
	void (*run)(void);

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	run = make_code(SIZE);
	while (used_ms() < RUN_MS)
		run();
	for (;;)
		pause();
}

static void end(pid_t pid)
{
	char path[64];

	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	path_of(path, pid);
	unlink(path);
}

static void run_many(size_t nr)
{
	const struct timespec rest = { 0, RUN_MS / 2 * 1000000 };
	pid_t *pids = calloc(nr, sizeof(*pids));
	size_t i;

	if (!pids)
		fail("calloc");
	for (i = 0;; i = (i + 1) % nr) {
		if (pids[i])
			end(pids[i]);
		pids[i] = fork();
		if (pids[i] == 0)
			run_one();
		nanosleep(&rest, NULL);
	}
}

int main(int argc, char **argv)
{
	size_t nr = argc > 1 ? strtoul(argv[1], NULL, 10) : 0;
	void (*run)(void);

	have_own_tmp();
	become(argc > 2 ? (uid_t)atoi(argv[2]) : 65534);
	run = nr ? NULL : make_code(0);
	puts("ready");
	fflush(stdout);
	while (run)
		run();
	run_many(nr);
}
