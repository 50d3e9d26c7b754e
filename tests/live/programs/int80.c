// SPDX-License-Identifier: BSD-2-Clause
/*
 * A system call of i386's in a 64-bit program, by int $0x80, that waits for ever and
 * gives EINTR after a stop: epoll_wait().  Prints what it gives.
 */
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/mman.h>

#define EPOLL_WAIT 256 /* of i386 */
#define ROOM       4096

static long epoll_wait_of_i386(int fd, void *events)
{
	long result;

	__asm__ volatile("int $0x80"
			 : "=a"(result)
			 : "0"((long)EPOLL_WAIT), "b"((long)fd), "c"(events),
			   "d"(1L), "S"(-1L)
			 : "memory", "r8", "r9", "r10", "r11");
	return result;
}

int main(void)
{
	void *events = mmap(NULL, ROOM, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT, -1, 0);
	int fd = epoll_create1(0);

	puts("ready");
	fflush(stdout);
	printf("%ld\n", epoll_wait_of_i386(fd, events));
	return 0;
}
