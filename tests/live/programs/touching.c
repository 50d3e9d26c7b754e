/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Touches memory for the first time, page by page, by two functions, and says
 * how many faults the kernel charged it with meanwhile: touching.c FEW MANY.
 * No huge page is taken, whatever the system does otherwise.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#define NOINLINE __attribute__((noinline, noclone))
#define PAUSE    100 /* pages */

static size_t page;

static NOINLINE void few(volatile char *at, size_t nr)
{
	for (; nr; nr--, at += page)
		*at = 1;
}

/* Whoever listens is given time to do so. */
static NOINLINE void many(volatile char *at, size_t nr)
{
	for (; nr; nr--, at += page) {
		*at = 1;
		if (nr % PAUSE == 0)
			usleep(1000);
	}
}

static long charged(void)
{
	struct rusage r;

	if (getrusage(RUSAGE_SELF, &r))
		exit(1);
	return r.ru_minflt + r.ru_majflt;
}

static NOINLINE long count(void (*touch)(volatile char *at, size_t nr),
			   size_t nr)
{
	char *at = mmap(NULL, nr * page, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	long before;

	if (at == MAP_FAILED)
		exit(1);
	/* A kernel without huge pages knows no such advice. */
	madvise(at, nr * page, MADV_NOHUGEPAGE);
	/* What the calls themselves take is there then. */
	charged();
	before = charged();
	touch(at, nr);
	return charged() - before;
}

int main(int argc, char **argv)
{
	long of_few, of_many;

	if (argc < 3)
		return 2;
	page = (size_t)sysconf(_SC_PAGESIZE);
	of_few = count(few, strtoul(argv[1], NULL, 10));
	of_many = count(many, strtoul(argv[2], NULL, 10));
	printf("%ld %ld\n", of_few, of_many);
	return 0;
}
