/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A process in which the kernel has started threads of its own for io_uring, one scene
 * per argument: "wait" has one that waits in a read of an empty pipe, "burn" one that
 * looks for requests without rest (IORING_SETUP_SQPOLL).
 */
#include <linux/io_uring.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "stay.h"

static int open_ring(struct io_uring_params *p)
{
	int fd = (int)syscall(SYS_io_uring_setup, 4, p);

	if (fd < 0 && write(1, "refused\nready\n", 14) == 14)
		_exit(0);
	return fd;
}

static void *map_ring(int fd, size_t size, off_t what)
{
	return mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, what);
}

/* Hand one request to the kernel; return false if it can't be. */
static bool submit(int fd, const struct io_uring_params *p,
		   const struct io_uring_sqe *request, unsigned int flags)
{
	char *ring = map_ring(fd, p->sq_off.array + p->sq_entries * 4,
			      IORING_OFF_SQ_RING);
	struct io_uring_sqe *requests = map_ring(
		fd, p->sq_entries * sizeof(*requests), IORING_OFF_SQES);

	if (ring == MAP_FAILED || requests == MAP_FAILED)
		return false;
	requests[0] = *request;
	*(uint32_t *)(ring + p->sq_off.array) = 0;
	__atomic_store_n((uint32_t *)(ring + p->sq_off.tail), 1,
			 __ATOMIC_RELEASE);
	return syscall(SYS_io_uring_enter, fd, 1, 0, flags, NULL, 0) == 1;
}

/* Once it has had a request, it looks for more for an hour. */
static NOINLINE int have_burn(void)
{
	static const struct io_uring_sqe nothing = { .opcode = IORING_OP_NOP };
	struct io_uring_params p = { .flags = IORING_SETUP_SQPOLL,
				     .sq_thread_idle = 3600000 };
	int fd = open_ring(&p);

	if (!submit(fd, &p, &nothing, IORING_ENTER_SQ_WAKEUP))
		return 1;
	return stay(1) + 1;
}

static NOINLINE int have_wait(void)
{
	static char byte;
	struct io_uring_params p = { 0 };
	int fd = open_ring(&p), ends[2];
	struct io_uring_sqe read_pipe = { .opcode = IORING_OP_READ,
					  .flags = IOSQE_ASYNC,
					  .addr = (uintptr_t)&byte,
					  .len = 1,
					  .off = (__u64)-1 };

	if (pipe(ends))
		return 1;
	read_pipe.fd = ends[0];
	if (!submit(fd, &p, &read_pipe, 0))
		return 1;
	return stay(1) + 1;
}

int main(int argc, char **argv)
{
	const char *scene = argc > 1 ? argv[1] : "";

	if (strcmp(scene, "wait") == 0)
		return have_wait();
	if (strcmp(scene, "burn") == 0)
		return have_burn();
	return 64;
}
