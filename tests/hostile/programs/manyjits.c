// SPDX-License-Identifier: BSD-2-Clause
/*
 * manyjits THREADS FUNCTIONS LENGTH: threads wait below a chain of frames that is in
 * each of so many functions of a JIT.  All begin at one address, and have names of so
 * many letters.
 */
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>

#include "threads.h"

#define FUNCTION ((size_t)16) /* bytes of each that are no other one's */
#define BELOW    ((size_t)65536)

/* 1: mov $34,%eax (pause(2)); syscall; jmp 1b */
static const uint8_t waiting[] = { 0xb8, 0x22, 0, 0, 0, 0x0f, 0x05, 0xeb, 0xf7 };

static size_t nr;
static uint8_t *code;

static void *map(size_t size, int protection)
{
	void *at = mmap(NULL, size, protection, MAP_PRIVATE | MAP_ANONYMOUS, -1,
			0);

	if (at == MAP_FAILED)
		fail("mmap");
	return at;
}

/* The later function has the part that both have. */
static void write_names(int length)
{
	char path[64], *name = malloc((size_t)length + 1);
	FILE *f;
	size_t i;

	snprintf(path, sizeof(path), "/tmp/perf-%d.map", getpid());
	f = fopen(path, "wx");
	if (!f || !name)
		fail(path);
	memset(name, 'x', (size_t)length);
	name[length] = '\0';
	for (i = nr; i > 0; i--)
		fprintf(f, "%lx %zx %zu%s\n", (unsigned long)code, i * FUNCTION,
			i, name);
	if (fclose(f))
		fail(path);
	free(name);
}

/* Another process removes the map after the end of this one, whatever ends it. */
static void have_removed(void)
{
	pid_t of = getpid();
	char path[64];
	sigset_t set;
	int number;

	snprintf(path, sizeof(path), "/tmp/perf-%d.map", of);
	sigfillset(&set);
	sigprocmask(SIG_BLOCK, &set, NULL);
	if (fork() == 0) {
		setsid();
		close(STDOUT_FILENO);
		prctl(PR_SET_PDEATHSIG, SIGTERM);
		while (getppid() == of)
			sigwait(&set, &number);
		unlink(path);
		_exit(0);
	}
	sigprocmask(SIG_UNBLOCK, &set, NULL);
}

static void *run_deep(void *arg)
{
	uint64_t *chain = arg;
	size_t i;

	for (i = 0; i < nr; i++) {
		chain[2 * i] = (uintptr_t)&chain[2 * i + 2];
		chain[2 * i + 1] = (uintptr_t)code + i * FUNCTION + 1;
	}
#if defined(__x86_64__)
	__asm__ volatile("mov %0, %%rsp\n"
			 "mov %1, %%rbp\n"
			 "jmp *%2\n"
			 :
			 : "r"(chain - 2), "r"(chain), "r"(code)
			 : "memory");
#endif
	return wait_here(arg);
}

int main(int argc, char **argv)
{
	int i, threads = argc > 1 ? atoi(argv[1]) : 1;

	nr = argc > 2 ? strtoul(argv[2], NULL, 10) : 1;
	code = map(nr * FUNCTION, PROT_READ | PROT_WRITE | PROT_EXEC);
	memcpy(code, waiting, sizeof(waiting));
	have_removed();
	write_names(argc > 3 ? atoi(argv[3]) : 1);
	for (i = 0; i < threads; i++)
		start(run_deep, (uint8_t *)map(2 * BELOW + 16 * nr,
					       PROT_READ | PROT_WRITE) +
					BELOW);
	puts("ready");
	fflush(stdout);
	wait_here(NULL);
	return 0;
}
