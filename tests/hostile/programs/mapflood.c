// SPDX-License-Identifier: BSD-2-Clause
/* mapflood: map code of a file, and unmap it, and do nothing else. */
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>

#define SIZE 4096

int main(void)
{
	int fd = open("/proc/self/exe", O_RDONLY);
	void *code;

	puts("ready");
	fflush(stdout);
	for (;;) {
		code = mmap(NULL, SIZE, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd,
			    0);
		if (code == MAP_FAILED || munmap(code, SIZE))
			return 1;
	}
}
