// SPDX-License-Identifier: BSD-2-Clause
/*
 * What a FUSE server can't do: hold up the module's calls, as a process that it doesn't
 * answer holds its locks; or have a file of its own taken for one that is mounted later.
 * Run as root.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/fuse.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <outwind/kunwind.h>

#include "handin.h"

#define AT        "/dev/shm/kunwind-fuse"
#define FILE_SIZE (1 << 20)

static int passed, failed;
static int fuse; /* of the server that runs */

static void say(bool well, const char *what, long figure)
{
	passed += well;
	failed += !well;
	if (!well)
		printf("not ok - %s (%ld)\n", what, figure);
}

static uint64_t now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

/* 0, or the errno. */
static int follow(int dev, pid_t pid, unsigned int flags)
{
	struct ow_kunwind_follow f = { .pid = pid, .flags = flags };

	return ioctl(dev, OW_KUNWIND_FOLLOW, &f) ? errno : 0;
}

static void reply(uint64_t unique, int error, const void *bytes, size_t size)
{
	struct fuse_out_header head = {
		.len = (uint32_t)(sizeof(head) + size),
		.unique = unique,
		.error = error,
	};
	struct iovec parts[] = { { &head, sizeof(head) },
				 { (void *)(uintptr_t)bytes, size } };

	if (writev(fuse, parts, 2) < 0)
		printf("# FUSE: %s\n", strerror(errno));
}

static void answer(uint64_t unique, const void *bytes, size_t size)
{
	reply(unique, 0, bytes, size);
}

static void answer_error(uint64_t unique, int error)
{
	reply(unique, error, NULL, 0);
}

/* So many reads fail before one isn't answered. */
static atomic_uint bad_reads;

static void answer_read(uint64_t unique)
{
	if (atomic_load(&bad_reads) == 0)
		return;
	atomic_fetch_sub(&bad_reads, 1);
	answer_error(unique, -EIO);
}

/*
 * The server of one file, reads of which it doesn't answer in the end; the second time
 * that it is opened, it is not to be cached.
 */
static void *serve(void *arg)
{
	static const struct fuse_init_out init = {
		.major = FUSE_KERNEL_VERSION,
		.minor = FUSE_KERNEL_MINOR_VERSION,
		.max_readahead = 4096,
		.max_write = 4096,
	};
	static const struct fuse_attr_out attr = {
		.attr = { .ino = 1,
			  .size = FILE_SIZE,
			  .mode = S_IFREG | 0644,
			  .nlink = 1 },
	};
	struct fuse_open_out opened = { .fh = 1 };
	int mine = fuse;
	static _Alignas(8) uint8_t request[65536];
	struct fuse_in_header head;

	while (read(mine, request, sizeof(request)) > 0) {
		memcpy(&head, request, sizeof(head));
		switch (head.opcode) {
		case FUSE_INIT: answer(head.unique, &init, sizeof(init)); break;
		case FUSE_GETATTR:
			answer(head.unique, &attr, sizeof(attr));
			break;
		case FUSE_OPEN:
			answer(head.unique, &opened, sizeof(opened));
			opened.open_flags = FOPEN_DIRECT_IO;
			break;
		case FUSE_READ: answer_read(head.unique); break;
		default: answer_error(head.unique, -ENOSYS);
		}
	}
	close(mine);
	return arg;
}

/* The server is to be joined after the file system is unmounted. */
static bool mount_fuse(pthread_t *server)
{
	char options[128];
	int fd = open(AT, O_CREAT | O_RDWR | O_CLOEXEC, 0600);

	fuse = open("/dev/fuse", O_RDWR | O_CLOEXEC);
	if (fuse < 0 || fd < 0)
		return false;
	close(fd);
	snprintf(options, sizeof(options),
		 "fd=%d,rootmode=100644,user_id=0,group_id=0,allow_other",
		 fuse);
	return !mount("none", AT, "fuse.kunwind", 0, options) &&
	       !pthread_create(server, NULL, serve, NULL);
}

static void *read_one(void *arg)
{
	char c;

	return read((int)(intptr_t)arg, &c, 1) == 1 ? arg : NULL;
}

/*
 * Mapping a file that isn't to be cached waits for its pages, one of which is being
 * read, with the mmap_lock held.
 */
static void hang_in_mmap(void)
{
	int cached = open(AT, O_RDONLY | O_CLOEXEC);
	int direct = open(AT, O_RDONLY | O_CLOEXEC);
	pthread_t t;

	if (cached < 0 || direct < 0 ||
	    pthread_create(&t, NULL, read_one, (void *)(intptr_t)cached))
		_exit(1);
	sleep(1);
	mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, direct, 0);
	_exit(2);
}

/*
 * A page fault waits for its page.  By its third try, after two that have failed, the
 * kernel holds the mmap_lock for reading meanwhile (Linux, mm/filemap.c,
 * lock_folio_maybe_drop_mmap()).
 */
static void hang_in_fault(void)
{
	int fd = open(AT, O_RDONLY | O_CLOEXEC);
	volatile const char *page;
	struct stat st;

	/* This asks for its size. */
	if (fd < 0 || fstat(fd, &st) || st.st_size != FILE_SIZE)
		_exit(1);
	page = mmap(NULL, FILE_SIZE, PROT_READ, MAP_PRIVATE, fd, 0);
	if (page == MAP_FAILED)
		_exit(1);
	(void)*page;
	_exit(2);
}

static void check_follow(int dev, pid_t pid, unsigned int flags, int want,
			 const char *what)
{
	uint64_t begin = now();
	int got;

	alarm(60); /* an older module waits for ever */
	got = follow(dev, pid, flags);
	alarm(0);
	printf("# %s: %s after %llu ms\n", what, strerror(got),
	       (unsigned long long)(now() - begin) / 1000000);
	say(got == want, what, got);
}

static void beside(void (*hang)(void), unsigned int bad, int want,
		   const char *what)
{
	int dev = open(OW_KUNWIND_DEVICE, O_RDWR | O_NONBLOCK | O_CLOEXEC);
	pthread_t server;
	pid_t pid;

	atomic_store(&bad_reads, bad);
	if (!mount_fuse(&server)) {
		printf("# no FUSE here\n");
		return;
	}
	pid = fork();
	if (pid == 0)
		hang();
	sleep(4);
	check_follow(dev, pid, 0, want, what);
	check_follow(dev, pid, OW_KUNWIND_NOWAIT, want, what);
	umount2(AT, MNT_FORCE); /* it can't be killed before */
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	umount2(AT, MNT_DETACH);
	pthread_join(server, NULL);
	unlink(AT);
	close(dev);
}

/* Mount the file, hand in a table of it, where there is one, and unmount it. */
static void use_mounted(int dev, const void *table, size_t size, dev_t *number,
			int *told)
{
	pthread_t server;
	struct stat st;
	int fd;

	if (!mount_fuse(&server)) {
		printf("# no FUSE here\n");
		return;
	}
	fd = open(AT, O_RDONLY | O_CLOEXEC);
	say(fd >= 0 && fstat(fd, &st) == 0, "a file of FUSE", errno);
	*number = st.st_dev;
	if (table)
		say(hand_in(dev, fd, table, size) == 0, "a table", errno);
	*told = map_and_read(dev, fd);
	close(fd);
	say(umount2(AT, 0) == 0, "unmount", errno);
	pthread_join(server, NULL);
	unlink(AT);
}

static void device_is_used_again(void)
{
	int dev = open(OW_KUNWIND_DEVICE, O_RDWR | O_NONBLOCK | O_CLOEXEC);
	int told = 0, later = 1;
	dev_t first = 0, second = 0;
	size_t size;
	uint8_t *table = make_table(1, 4096, &size);

	say(follow(dev, 0, 0) == 0, "follow", errno);
	use_mounted(dev, table, size, &first, &told);
	use_mounted(dev, NULL, 0, &second, &later);
	if (first != second)
		printf("# the device number isn't used again\n");
	say(told == 0, "the file has its table", told);
	say(later == 1, "the file of another mount has none", later);
	munmap(table, size);
	close(dev);
}

int main(void)
{
	setvbuf(stdout, NULL, _IOLBF, 0);
	beside(hang_in_mmap, 0, EBUSY, "a process that hangs in mmap()");
	/* It holds the lock for reading only. */
	beside(hang_in_fault, 2, 0, "a process that hangs in a page fault");
	device_is_used_again();
	printf("%d passed, %d failed\n", passed, failed);
	return failed != 0;
}
