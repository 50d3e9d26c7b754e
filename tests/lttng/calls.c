// SPDX-License-Identifier: BSD-2-Clause
/*
 * Makes system calls from stacks of many shapes, and says which stack each came
 * from, by libunwind: calls COUNT LOG [deaf|deep].  Without frame pointers.  Each
 * thread writes "tid pc pc..." a call, in the order of its calls.  Waits before that
 * until the kunwind module has what it needs of this process, unless it is deaf.
 * Deep stacks are deeper than what is written of them.
 */
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define UNW_LOCAL_ONLY
#include <libunwind.h>

#include "followed.h"

#define NOINLINE   __attribute__((noinline, noclone))
#define MAX_FRAMES 128
#define NR_THREADS 2

struct taken {
	unsigned int nr;
	uint64_t pcs[MAX_FRAMES];
};

static struct thread {
	pthread_t thread;
	pid_t tid;
	unsigned int nr;
	struct taken *list;
} threads[NR_THREADS];

static unsigned int count, least;
static __thread struct thread *self;

static inline __attribute__((always_inline)) uint64_t call_lseek(long fd)
{
	uint64_t after, ret;

	__asm__ volatile("lea 1f(%%rip), %1\n\tsyscall\n1:"
			 : "=a"(ret), "=&r"(after)
			 : "0"((long)SYS_lseek), "D"(fd), "S"(0L), "d"(0L)
			 : "rcx", "r11", "memory");
	return after;
}

/* The call, from here; the frames behind this one are libunwind's. */
static NOINLINE void leaf(void)
{
	struct taken *t = &self->list[self->nr];
	unw_context_t context;
	unw_cursor_t cursor;
	unw_word_t ip;

	if (self->nr == count)
		return;
	t->nr = 1;
	unw_getcontext(&context);
	unw_init_local(&cursor, &context);
	while (t->nr < MAX_FRAMES && unw_step(&cursor) > 0 &&
	       unw_get_reg(&cursor, UNW_REG_IP, &ip) == 0 && ip)
		t->pcs[t->nr++] = ip;
	t->pcs[0] = call_lseek(-1);
	self->nr++;
	__asm__ volatile("" ::: "memory");
}

static NOINLINE void narrow(unsigned int depth);

static NOINLINE void wide(unsigned int depth)
{
	volatile char fill[300];

	fill[0] = (char)depth;
	narrow(depth);
	fill[1] = fill[0];
}

/* A size that only runs know: the CFA goes by a register. */
static NOINLINE void sized(unsigned int depth)
{
	volatile char *fill = __builtin_alloca(16 + 16 * (depth % 7));

	fill[0] = (char)depth;
	narrow(depth);
	fill[1] = fill[0];
}

static int compare(const void *a, const void *b)
{
	leaf();
	return *(const int *)a - *(const int *)b;
}

static void on_signal(int nr)
{
	(void)nr;
	leaf();
}

static NOINLINE void narrow(unsigned int depth)
{
	int some[2] = { 2, 1 };

	if (depth == 0) {
		leaf();
		qsort(some, 2, sizeof(some[0]), compare);
	} else if (depth % 11 == 5) {
		pthread_kill(pthread_self(), SIGUSR1);
		narrow(depth - 1);
	} else if (depth % 3 == 0) {
		wide(depth - 1);
	} else if (depth % 3 == 1) {
		sized(depth - 1);
	} else {
		narrow(depth - 1);
	}
	__asm__ volatile("" ::: "memory");
}

static void *run(void *arg)
{
	unsigned int depth = 0;

	self = arg;
	self->tid = (pid_t)syscall(SYS_gettid);
	while (self->nr < count)
		narrow(least + depth++ % 40);
	return NULL;
}

static void write_log(FILE *out, const struct thread *t)
{
	unsigned int i, k;

	for (i = 0; i < t->nr; i++) {
		fprintf(out, "%d", t->tid);
		for (k = 0; k < t->list[i].nr; k++)
			fprintf(out, " %#llx",
				(unsigned long long)t->list[i].pcs[k]);
		putc('\n', out);
	}
}

int main(int argc, char **argv)
{
	FILE *out = argc > 2 ? fopen(argv[2], "w") : NULL;
	unsigned int i;

	if (!out) {
		fprintf(stderr, "usage: calls COUNT LOG [deaf|deep]\n");
		return 2;
	}
	count = (unsigned int)atoi(argv[1]);
	signal(SIGUSR1, on_signal);
	if (argc > 3 && strcmp(argv[3], "deep") == 0)
		least = MAX_FRAMES;
	if ((argc == 3 || least) && !wait_until_followed())
		fprintf(stderr, "calls: nobody follows it\n");
	for (i = 0; i < NR_THREADS; i++)
		threads[i].list = calloc(count, sizeof(struct taken));
	for (i = 0; i < NR_THREADS; i++)
		pthread_create(&threads[i].thread, NULL, run, &threads[i]);
	for (i = 0; i < NR_THREADS; i++)
		pthread_join(threads[i].thread, NULL);
	for (i = 0; i < NR_THREADS; i++)
		write_log(out, &threads[i]);
	return fclose(out) ? 2 : 0;
}
