// SPDX-License-Identifier: BSD-2-Clause
/*
 * A thread waits with its stack pointer in memory of a userfaultfd that another
 * thread of the process serves: who stops all threads and then reads that stack
 * waits for a thread that it has stopped.
 *
 * uffdstack main|other serve|never [THREADS]: whose stack it is; whether it is ever
 * served; and so many threads more.
 */
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "threads.h"

#define SIZE ((size_t)64 << 10)
#define PAGE 4096

static int uffd;

static void *serve(void *arg)
{
	struct uffdio_zeropage zero = { 0 };
	struct uffd_msg msg;

	while (arg)
		pause();
	while (read(uffd, &msg, sizeof(msg)) == sizeof(msg)) {
		zero.range.start = msg.arg.pagefault.address & ~(PAGE - 1ULL);
		zero.range.len = PAGE;
		ioctl(uffd, UFFDIO_ZEROPAGE, &zero);
	}
	return NULL;
}

static char *make_region(void)
{
	struct uffdio_api api = { .api = UFFD_API };
	struct uffdio_register reg = { .mode = UFFDIO_REGISTER_MODE_MISSING };
	char *region = mmap(NULL, SIZE, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	uffd = (int)syscall(SYS_userfaultfd, O_CLOEXEC);
	if (uffd < 0 || ioctl(uffd, UFFDIO_API, &api))
		fail("userfaultfd");
	reg.range.start = (unsigned long)region;
	reg.range.len = SIZE;
	if (region == MAP_FAILED || ioctl(uffd, UFFDIO_REGISTER, &reg))
		fail("register");
	return region;
}

/* Wait for ever with sp there, without touching it. */
static void *wait_there(void *region)
{
	char *sp = (char *)region + SIZE / 2;

	wait_with_stack(sp);
	return NULL;
}

int main(int argc, char **argv)
{
	char *region = make_region();
	int i, more = argc > 3 ? atoi(argv[3]) : 0;
	int is_main = argc > 1 && strcmp(argv[1], "main") == 0;

	start(serve, argc > 2 && strcmp(argv[2], "never") == 0 ? region : NULL);
	if (!is_main)
		start(wait_there, region);
	for (i = 0; i < more; i++)
		start(wait_here, NULL);
	puts("ready");
	fflush(stdout);
	if (is_main)
		wait_there(region);
	wait_here(NULL);
	return 0;
}
