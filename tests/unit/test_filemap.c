// SPDX-License-Identifier: BSD-2-Clause
#include "filemap.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/memfd.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <outwind/outwind.h>

#include "scratch.h"
#include "test.h"

#define PAGE 4096
#define WHY  ": cut off, or not readable, while it was read"

static sigjmp_buf out;
static volatile int nr_own, nr_chained;
static struct sigaction before;

/* A file of that size with an 'x' in each byte. */
static int make_file(const char *name, size_t size)
{
	int fd = open(name, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	char *text = malloc(size);

	if (fd < 0 || !text)
		abort();
	memset(text, 'x', size);
	if (write(fd, text, size) != (ssize_t)size)
		abort();
	free(text);
	return fd;
}

static void cut(int fd, off_t size)
{
	if (ftruncate(fd, size))
		abort();
}

/* An access to what a file of the test's own has lost. */
static void fault(void)
{
	int fd = make_file("own", PAGE);
	volatile char *at = mmap(NULL, PAGE, PROT_READ, MAP_SHARED, fd, 0);

	cut(fd, 0);
	close(fd);
	(void)at[0];
	munmap((void *)at, PAGE);
}

static void set_handler(void (*handler)(int), int flags)
{
	const struct sigaction action = { .sa_handler = handler,
					  .sa_flags = flags };

	sigaction(SIGBUS, &action, &before);
}

static void on_own(int nr)
{
	(void)nr;
	nr_own++;
	siglongjmp(out, 1);
}

/* As programs do that hand on what is not theirs. */
static void on_chained(int nr, siginfo_t *info, void *context)
{
	nr_chained++;
	if (before.sa_flags & SA_SIGINFO)
		before.sa_sigaction(nr, info, context);
	else
		before.sa_handler(nr);
}

static void test_whole(void)
{
	int fd = make_file("whole", PAGE + 100);
	struct ow_filemap *m = ow_filemap_open(fd, PAGE + 100, "whole", 0);
	unsigned int nr = ow_filemap_nr_cut();
	const uint8_t *at = ow_filemap_bytes(m);

	CHECK(at[0] == 'x' && at[PAGE + 99] == 'x' && at[PAGE + 100] == 0);
	CHECK(strcmp(ow_filemap_name(m), "whole") == 0);
	CHECK(!ow_filemap_is_cut(m) && !ow_filemap_is_cut(NULL));
	CHECK(ow_filemap_nr_cut() == nr && !ow_file_lost(0));
	ow_filemap_close(m);
	ow_filemap_close(NULL);
	errno = 0;
	CHECK(!ow_filemap_open(fd, SIZE_MAX, "huge", 0) && errno == ENOMEM);
	close(fd);
	CHECK(!ow_filemap_open(fd, PAGE, "closed", 0) && errno == EBADF);
	fd = memfd_create("of huge pages", MFD_HUGETLB);
	CHECK(fd >= 0 && !ftruncate(fd, 2 << 20));
	CHECK(!ow_filemap_open(fd, PAGE, "of huge pages", 0) &&
	      errno == EOPNOTSUPP);
	close(fd);
}

/* Whoever reads on after the last byte of the last page finds an end, too. */
static void test_end(void)
{
	int fd = make_file("end", PAGE);
	struct ow_filemap *m = ow_filemap_open(fd, PAGE, "end", 0);
	const uint8_t *volatile at = ow_filemap_bytes(m);

	CHECK(at[PAGE - 1] == 'x' && at[PAGE] == 0);
	CHECK(ow_filemap_is_cut(m));
	ow_filemap_close(m);
	close(fd);
	CHECK(strcmp(ow_file_lost(0), "end" WHY) == 0 && !ow_file_lost(1));
}

/* Nor does it matter then that the file has grown. */
static void test_grown(void)
{
	int fd = make_file("grown", PAGE);
	struct ow_filemap *m = ow_filemap_open_growing(fd, PAGE, "grown", 0);
	const uint8_t *volatile at = ow_filemap_bytes(m);
	struct ow_identity id;

	CHECK(pwrite(fd, "x", 1, PAGE) == 1 &&
	      pwrite(fd, "x", 1, 2 * PAGE - 1) == 1);
	CHECK(at[PAGE - 1] == 'x' && at[PAGE] == 0 && at[2 * PAGE - 1] == 0);
	CHECK(!ow_filemap_is_cut(m));
	CHECK(geteuid() || (ow_filemap_look(m, &id) && id.size == 2 * PAGE));
	cut(fd, 0);
	CHECK(at[0] == 0 && at[PAGE] == 0 && ow_filemap_is_cut(m));
	ow_filemap_close(m);
	close(fd);
	CHECK(strcmp(ow_file_lost(1), "grown" WHY) == 0 && !ow_file_lost(2));
}

static void test_cut(void)
{
	int fd = make_file("cut", 3 * PAGE);
	struct ow_filemap *m = ow_filemap_open(fd, 3 * PAGE, "cut", 0);
	struct ow_filemap *other = ow_filemap_open(fd, PAGE, "cut", 0);
	unsigned int nr = ow_filemap_nr_cut();
	const uint8_t *volatile at = ow_filemap_bytes(m);
	int round;

	CHECK(at[0] == 'x' && at[3 * PAGE - 1] == 'x');
	cut(fd, PAGE);
	CHECK(at[0] == 'x' && !ow_filemap_is_cut(m));
	errno = EXDEV;
	CHECK(at[PAGE] == 0 && errno == EXDEV);
	/* All of it, so that no half of anything is believed. */
	CHECK(at[0] == 0 && at[3 * PAGE - 1] == 0);
	CHECK(ow_filemap_is_cut(m) && !ow_filemap_is_cut(other));
	CHECK(ow_filemap_nr_cut() == nr + 1);
	/* While it is mapped, after that, and each name once. */
	for (round = 0; round < 3; round++) {
		CHECK(strcmp(ow_file_lost(2), "cut" WHY) == 0 &&
		      !ow_file_lost(3));
		cut(fd, 0);
		CHECK(*ow_filemap_bytes(other) == 0);
		if (round == 1)
			ow_filemap_close(m);
	}
	CHECK(ow_filemap_nr_cut() == nr + 2);
	ow_filemap_close(other);
	/* The place of one is taken by another, which is whole. */
	cut(fd, PAGE);
	m = ow_filemap_open(fd, PAGE, "again", 0);
	CHECK(!ow_filemap_is_cut(m) && *ow_filemap_bytes(m) == 0);
	ow_filemap_close(m);
	CHECK(!ow_file_lost(3));
	close(fd);
}

/* What other code maps, and unmaps. */
static void test_adopted(void)
{
	int fd = make_file("adopted", 2 * PAGE);
	uint8_t *volatile at =
		mmap(NULL, 2 * PAGE, PROT_READ, MAP_PRIVATE, fd, 0);
	struct ow_filemap *m = ow_filemap_adopt(at + 8, PAGE, "adopted");

	CHECK(ow_filemap_has(m, at) && ow_filemap_has(m, at + 2 * PAGE - 1));
	CHECK(!ow_filemap_has(m, at - 1) && !ow_filemap_has(m, at + 2 * PAGE));
	cut(fd, 0);
	CHECK(at[PAGE] == 0 && ow_filemap_is_cut(m));
	ow_filemap_close(m);
	CHECK(at[0] == 0);
	CHECK(munmap(at, 2 * PAGE) == 0);
	close(fd);
	CHECK(strcmp(ow_file_lost(3), "adopted" WHY) == 0);
}

static void *read_blocked(void *arg)
{
	int fd = make_file("blocked", PAGE);
	struct ow_filemap *m;
	sigset_t all;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, NULL);
	m = ow_filemap_open(fd, PAGE, "blocked", 0);
	cut(fd, 0);
	*(bool *)arg = *ow_filemap_bytes(m) == 0 && ow_filemap_is_cut(m);
	ow_filemap_close(m);
	close(fd);
	return NULL;
}

static void test_blocked(void)
{
	bool is_read = false;
	pthread_t thread;

	CHECK(pthread_create(&thread, NULL, read_blocked, &is_read) == 0);
	pthread_join(thread, NULL);
	CHECK(is_read);
}

/* A handler that was there before, and others that come later. */
static void test_handlers(void)
{
	const struct sigaction chained = { .sa_sigaction = on_chained,
					   .sa_flags = SA_SIGINFO };
	int fd = make_file("handlers", PAGE);
	struct ow_filemap *m;

	set_handler(on_own, 0);
	m = ow_filemap_open(fd, PAGE, "handlers", 0);
	nr_own = nr_chained = 0;
	if (!sigsetjmp(out, 1))
		fault();
	CHECK(nr_own == 1);
	/* Once more: jumping out of a handler left nothing behind. */
	if (!sigsetjmp(out, 1))
		fault();
	CHECK(nr_own == 2);
	ow_filemap_close(m);
	sigaction(SIGBUS, &chained, &before);
	m = ow_filemap_open(fd, PAGE, "handlers", 0);
	if (!sigsetjmp(out, 1))
		fault();
	CHECK(nr_chained == 1);
	cut(fd, 0);
	CHECK(*ow_filemap_bytes(m) == 0 && nr_chained == 1);
	ow_filemap_close(m);
	close(fd);
}

/* How a child ends that has that handler, maps a file and does something. */
static int end_of(void (*handler)(int), bool leave, void (*act)(void))
{
	int status = 0, fd = make_file("child", PAGE);
	pid_t child = fork();

	if (child == 0) {
		set_handler(handler, 0);
		if (leave)
			ow_sigbus_leave();
		ow_filemap_open(fd, PAGE, "child", 0);
		act();
		_exit(0);
	}
	waitpid(child, &status, 0);
	close(fd);
	return WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status);
}

static void send_self(void)
{
	raise(SIGBUS);
}

static void check_left(void)
{
	struct sigaction now;

	sigaction(SIGBUS, NULL, &now);
	_exit(now.sa_handler == on_own ? 3 : 4);
}

static void test_ends(void)
{
	CHECK(end_of(SIG_DFL, false, fault) == SIGBUS);
	CHECK(end_of(SIG_IGN, false, fault) == SIGBUS);
	CHECK(end_of(SIG_DFL, false, send_self) == SIGBUS);
	CHECK(end_of(SIG_IGN, false, send_self) == 0);
	CHECK(end_of(on_own, true, check_left) == 3);
	CHECK(end_of(on_own, false, check_left) == 4);
}

int main(void)
{
	static const struct test tests[] = {
		{ "a file that is whole", test_whole },
		{ "the end of a file of whole pages", test_end },
		{ "the end of a file that grows", test_grown },
		{ "a file that is cut off", test_cut },
		{ "a mapping of other code", test_adopted },
		{ "a thread that blocks all signals", test_blocked },
		{ "handlers of the program", test_handlers },
		{ "programs without a handler", test_ends },
	};

	scratch_enter();
	return test_main(tests, sizeof(tests) / sizeof(tests[0]));
}
