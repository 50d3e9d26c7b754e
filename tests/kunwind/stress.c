// SPDX-License-Identifier: BSD-2-Clause
/*
 * Threads that load and unload objects, fork, execute, map over what was mapped,
 * and exit, while the module unwinds them.  stress SECONDS.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <outwind/kunwind.h>
#include <outwind/outwind.h>

#include "chain.h"

static time_t until;
static const char *self;
static int dev;
static unsigned long rounds[8], ended[OW_NR_ENDS], odd;

static void unwind(void)
{
	struct ow_frame frames[256];
	enum ow_end end;
	int nr = ow_kunwind_unwind(dev, frames, 256, 0, &end, NULL);

	if (nr < 1 || nr > 256 || (unsigned int)end >= OW_NR_ENDS)
		__atomic_fetch_add(&odd, 1, __ATOMIC_RELAXED);
	else
		__atomic_fetch_add(&ended[end], 1, __ATOMIC_RELAXED);
	syscall(SYS_getppid);
}

static void load(void)
{
	void *lib = dlopen(getenv("PLUGIN"), RTLD_NOW);
	void (*call)(void (*)(void));

	if (!lib)
		return;
	call = (void (*)(void (*)(void)))dlsym(lib, "plugin_call");
	call(unwind);
	dlclose(lib);
	unwind();
}

static void forks(void)
{
	pid_t pid = fork();

	if (pid == 0) {
		kt_chain(10, unwind);
		_exit(0);
	}
	waitpid(pid, NULL, 0);
}

static void execs(void)
{
	pid_t pid = vfork();

	if (pid == 0) {
		execl(self, self, "child", (char *)NULL);
		_exit(1);
	}
	waitpid(pid, NULL, 0);
}

/* Code that comes and goes, and a page of stack that isn't there. */
static void maps(void)
{
	uint8_t *p = mmap(NULL, 1 << 16, PROT_READ | PROT_WRITE | PROT_EXEC,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
		return;
	p[0] = 0xc3;
	mprotect(p, 4096, PROT_READ | PROT_EXEC);
	unwind();
	mmap(p + 8192, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED,
	     -1, 0);
	madvise(p, 1 << 16, MADV_DONTNEED);
	unwind();
	munmap(p, 1 << 16);
}

static void deep(void)
{
	kt_chain(200, unwind);
}

static void *short_lived(void *arg)
{
	kt_chain(5, unwind);
	return arg;
}

static void threads(void)
{
	pthread_t t;

	if (pthread_create(&t, NULL, short_lived, NULL) == 0)
		pthread_join(t, NULL);
}

static void sessions(void)
{
	int mine = ow_kunwind_open(NULL);

	ow_kunwind_follow(mine, 0, OW_KUNWIND_INHERIT, NULL);
	unwind();
	close(mine);
}

static void (*const all[])(void) = {
	load, forks, execs, maps, deep, threads, sessions,
};

#define NR (sizeof(all) / sizeof(all[0]))

static void *run(void *arg)
{
	size_t i = (uintptr_t)arg;

	while (time(NULL) < until) {
		all[i]();
		rounds[i]++;
	}
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t t[NR];
	struct ow_error err;
	size_t i;
	int n = 0;

	self = "/proc/self/exe";
	if (argc > 1 && strcmp(argv[1], "child") == 0) {
		dev = open(OW_KUNWIND_DEVICE, O_RDWR | O_NONBLOCK);
		kt_chain(10, unwind);
		return 0;
	}
	until = time(NULL) + (argc > 1 ? atoi(argv[1]) : 10);
	dev = ow_kunwind_open(&err);
	if (dev < 0 || ow_kunwind_follow(dev, 0, OW_KUNWIND_INHERIT, &err)) {
		printf("%s\n0 passed, 1 failed\n", err.msg);
		return 1;
	}
	for (i = 0; i < NR; i++)
		pthread_create(&t[i], NULL, run, (void *)i);
	while (time(NULL) < until) {
		ow_kunwind_serve(dev, NULL, NULL, NULL, NULL);
		usleep(1000);
	}
	for (i = 0; i < NR; i++) {
		pthread_join(t[i], NULL);
		n += rounds[i] > 0;
	}
	printf("# rounds");
	for (i = 0; i < NR; i++)
		printf(" %lu", rounds[i]);
	printf("; ends");
	for (i = 0; i < OW_NR_ENDS; i++)
		printf(" %lu", ended[i]);
	printf("\n%d passed, %d failed\n",
	       odd == 0 && n == NR && ended[OW_END_OUTERMOST] > 0,
	       !(odd == 0 && n == NR && ended[OW_END_OUTERMOST] > 0));
	return odd != 0;
}
