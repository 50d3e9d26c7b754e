// SPDX-License-Identifier: BSD-2-Clause
#include "procobject.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#include "capture.h"
#include "test.h"

#define PAGE 4096

static char path[] = "/dev/shm/outwind-test-XXXXXX";

/* Have a copy of a program at the path; return it open. */
static int make_file(void)
{
	static uint8_t bytes[1 << 20];
	int from = open("/bin/true", O_RDONLY), fd = mkstemp(path);
	ssize_t size = read(from, bytes, sizeof(bytes));

	if (fd < 0 || size <= 0 || write(fd, bytes, (size_t)size) != size)
		abort();
	close(from);
	return fd;
}

static pid_t gone_process(void)
{
	pid_t child = fork();

	if (child == 0)
		_exit(0);
	waitpid(child, NULL, 0);
	return child;
}

/* Return true if what was mapped so is found of that process. */
static bool is_found(pid_t pid, const struct ow_capture_module *what)
{
	struct ow_capture *c = ow_capture_create(NULL);
	struct ow_capture_module m = *what;
	struct ow_object *obj;

	c->pid = c->live = pid;
	obj = ow_procobject_open(c, &m, NULL);
	ow_object_close(obj);
	ow_capture_destroy(c);
	return obj;
}

/* By its name: the process has exited. */
static void check_named(struct ow_capture_module m, pid_t gone)
{
	CHECK(is_found(gone, &m));
	m.dev = makedev(8, 250);
	CHECK(!is_found(gone, &m));
	m.inode++;
	CHECK(!is_found(gone, &m));
}

/* By its address, whose file has that name at least. */
static void check_mapped(struct ow_capture_module m, int fd)
{
	void *at = mmap(NULL, PAGE, PROT_READ, MAP_PRIVATE, fd, 0);

	if (at == MAP_FAILED)
		abort();
	m.start = (uintptr_t)at;
	m.end = m.start + PAGE;
	CHECK(is_found(getpid(), &m));
	m.inode++;
	CHECK(!is_found(getpid(), &m));
	munmap(at, PAGE);
}

static void test_identity(void)
{
	struct ow_capture_module m = { .path = path };
	int fd = make_file();
	struct stat st;

	if (fstat(fd, &st))
		abort();
	m.dev = st.st_dev;
	m.inode = st.st_ino;
	check_named(m, gone_process());
	check_mapped(m, fd);
	unlink(path);
	close(fd);
}

int main(void)
{
	static const struct test tests[] = {
		{ "only the file that was mapped", test_identity },
	};

	return test_main(tests, OW_ARRAY_SIZE(tests));
}
