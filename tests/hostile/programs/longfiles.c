// SPDX-License-Identifier: BSD-2-Clause
/*
 * Runs itself from so many memory files, one after the other, each with other names of
 * the 272 functions of its stack, of 3 letters and up to 16,000: longfiles NUMBER FIRST,
 * where FIRST (0 to 675) tells by which two letters the first file's begin.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define BUSY_NS 50000000L
#define MARK    "zZ" /* all names begin so, until a file has its own */
#define LETTERS 26

#define P1    "a"
#define P2    P1 P1
#define P4    P2 P2
#define P8    P4 P4
#define P16   P8 P8
#define P32   P16 P16
#define P64   P32 P32
#define P128  P64 P64
#define P256  P128 P128
#define P512  P256 P256
#define P1024 P512 P512
#define P2048 P1024 P1024
#define P4096 P2048 P2048
#define P8192 P4096 P4096
#define P14K  P8192 P4096 P2048
#define P16K  P8192 P4096 P2048 P1024 P512

/* Functions whose names have equally many letters. */
#define ROW(X, length, letters) \
	X(length, a, letters)   \
	X(length, b, letters)   \
	X(length, c, letters)   \
	X(length, d, letters)   \
	X(length, e, letters)   \
	X(length, f, letters)   \
	X(length, g, letters)   \
	X(length, h, letters)   \
	X(length, i, letters)   \
	X(length, j, letters)   \
	X(length, k, letters)   \
	X(length, l, letters)   \
	X(length, m, letters)   \
	X(length, n, letters)   \
	X(length, o, letters)   \
	X(length, p, letters)

#define ALL(X)            \
	ROW(X, 16, P16K)  \
	ROW(X, 15, P14K)  \
	ROW(X, 14, P8192) \
	ROW(X, 13, P4096) \
	ROW(X, 12, P2048) \
	ROW(X, 11, P1024) \
	ROW(X, 10, P512)  \
	ROW(X, 9, P256)   \
	ROW(X, 8, P128)   \
	ROW(X, 7, P64)    \
	ROW(X, 6, P32)    \
	ROW(X, 5, P16)    \
	ROW(X, 4, P8)     \
	ROW(X, 3, P4)     \
	ROW(X, 2, P2)     \
	ROW(X, 1, P1)     \
	ROW(X, 0, "")

#define NAME(length, letter, letters) \
	void step_##length##letter(int at) __asm__(MARK #letter letters);
#define ENTRY(length, letter, letters) step_##length##letter,
#define STEP(length, letter, letters)                                         \
	__attribute__((noinline, noclone, noipa)) void step_##length##letter( \
		int at)                                                       \
	{                                                                     \
		next(at + 1);                                                 \
		sink++;                                                       \
	}

static volatile unsigned long sink;

ALL(NAME)

static void (*const steps[])(int at) = { ALL(ENTRY) };

static long cpu_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	return now.tv_sec * 1000000000L + now.tv_nsec;
}

static void next(int at)
{
	if (at < (int)(sizeof(steps) / sizeof(steps[0])))
		steps[at](at);
	else
		while (cpu_ns() < BUSY_NS)
			sink++;
}

ALL(STEP)

/* Our program with names of its own; -1: it failed. */
static int make_file(int number)
{
	int own = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	int fd = memfd_create("program", MFD_CLOEXEC);
	const char mark[] = "\0" MARK;
	char *bytes, *at, *end;
	struct stat st;

	if (own < 0 || fd < 0 || fstat(own, &st) || ftruncate(fd, st.st_size))
		return -1;
	bytes = mmap(NULL, (size_t)st.st_size, PROT_READ | PROT_WRITE,
		     MAP_SHARED, fd, 0);
	if (bytes == MAP_FAILED ||
	    read(own, bytes, (size_t)st.st_size) != st.st_size)
		return -1;
	end = bytes + st.st_size;
	for (at = bytes; (at = memmem(at, (size_t)(end - at), mark, 3)); at++) {
		at[1] = (char)('A' + number / LETTERS % LETTERS);
		at[2] = (char)('A' + number % LETTERS);
	}
	munmap(bytes, (size_t)st.st_size);
	close(own);
	return fd;
}

static void run(int number)
{
	char *args[] = { "longfiles", NULL }, *env[] = { NULL };
	int fd = make_file(number);

	if (fd >= 0)
		fexecve(fd, args, env);
	_exit(1);
}

int main(int argc, char **argv)
{
	int nr = argc == 3 ? atoi(argv[1]) : 0, i;

	if (nr == 0) {
		next(0);
		return 0;
	}
	for (i = 0; i < nr; i++) {
		if (fork() == 0)
			run(atoi(argv[2]) + i);
		wait(NULL);
	}
	return 0;
}
