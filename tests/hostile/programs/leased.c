// SPDX-License-Identifier: BSD-2-Clause
/*
 * FILE ...: takes a lease of each and never gives it back, so that an open() of it
 * waits for /proc/sys/fs/lease-break-time.
 */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	int i, fd;

	signal(SIGIO, SIG_IGN);
	for (i = 1; i < argc; i++) {
		fd = open(argv[i], O_RDWR | O_CLOEXEC);
		if (fd < 0 || fcntl(fd, F_SETLEASE, F_WRLCK)) {
			perror(argv[i]);
			return 1;
		}
	}
	puts("ready");
	fflush(stdout);
	for (;;)
		pause();
}
