// SPDX-License-Identifier: BSD-2-Clause
/*
 * A program that runs in its vDSO.  With the argument "lie" it has other names of
 * functions written there before, as a process may.
 */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>
#include <time.h>
#include <unistd.h>

#define SIZE 8192 /* at most */

static void lie(void)
{
	static uint8_t image[SIZE];
	uint64_t vdso = getauxval(AT_SYSINFO_EHDR);
	int mem = open("/proc/self/mem", O_RDWR | O_CLOEXEC);
	ssize_t size = pread(mem, image, sizeof(image), (off_t)vdso);
	uint8_t *at = image;

	while ((at = memmem(at, (size_t)(image + size - at), "clock_g", 7))) {
		if (pwrite(mem, "false_g", 7, (off_t)vdso + (at - image)) != 7)
			perror("/proc/self/mem");
		at++;
	}
	close(mem);
}

int main(int argc, char **argv)
{
	struct timespec now;

	/* The C library finds the functions by their names, before. */
	clock_gettime(CLOCK_MONOTONIC, &now);
	if (argc > 1 && strcmp(argv[1], "lie") == 0)
		lie();
	puts("ready");
	fflush(stdout);
	for (;;)
		clock_gettime(CLOCK_MONOTONIC, &now);
}
