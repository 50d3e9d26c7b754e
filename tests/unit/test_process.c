// SPDX-License-Identifier: BSD-2-Clause
/* Processes that need the capturing process to live on. */
#include <outwind/outwind.h>

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "test.h"

#define TOO_LONG 300 /* seconds, for what should happen at once */
#define MS       1000

struct waiting {
	pid_t pid;    /* waits in vfork(), and ends with 42 when that is over */
	int to_child; /* closed, it lets the child go */
};

/* Runs on the parent's stack, which waits. */
static void be_child(int from_test, int to_test)
{
	char c = 'x';

	if (write(to_test, &c, 1) != 1)
		_exit(1);
	while (read(from_test, &c, 1) < 0 && errno == EINTR)
		;
	_exit(0);
}

static void begin_waiting(struct waiting *w)
{
	int down[2], up[2];
	char c;

	if (pipe(down) || pipe(up))
		abort();
	w->pid = fork();
	if (w->pid == 0) {
		close(down[1]);
		if (vfork() == 0)
			be_child(down[0], up[1]);
		_exit(42);
	}
	close(down[0]);
	close(up[1]);
	w->to_child = down[1];
	if (w->pid < 0 || read(up[0], &c, 1) != 1)
		abort();
	close(up[0]);
}

/* How did it end?  A stop counts as none, and -1 is too late. */
static int end_of(pid_t pid)
{
	int status, i;
	pid_t got;

	for (i = 0; i < TOO_LONG * MS; i++) {
		got = waitpid(pid, &status, WNOHANG);
		if (got == pid && !WIFSTOPPED(status))
			return status;
		usleep(1000);
	}
	kill(pid, SIGKILL);
	waitpid(pid, &status, 0);
	return -1;
}

/*
 * A parent in vfork() can be told to stop, but does so only when its child is
 * gone: after we gave up on it.  It must not stop then.
 */
static void test_stops_too_late(void)
{
	const struct ow_capture_options options = { .stop_timeout_ms = 100 };
	struct ow_error err = { 0 };
	struct ow_capture *c;
	struct waiting w;
	char want[128];
	int status;

	begin_waiting(&w);
	alarm(TOO_LONG);
	c = ow_capture_process(w.pid, &options, &err);
	alarm(0);
	CHECK(!c);
	CHECK(err.code == OW_CODE_TIMEOUT);
	snprintf(want, sizeof(want),
		 "process %d: thread did not stop in time, it is in an "
		 "uninterruptible call",
		 w.pid);
	CHECK(strcmp(err.msg, want) == 0);
	ow_capture_destroy(c);
	close(w.to_child);
	status = end_of(w.pid);
	CHECK(status >= 0 && WIFEXITED(status) && WEXITSTATUS(status) == 42);
}

/* Run on that CPU only, without end, and ahead of all others if is_first. */
static pid_t begin_running(int cpu, bool is_first, int to_test)
{
	const struct sched_param param = { .sched_priority = 1 };
	pid_t pid = fork();
	cpu_set_t set;
	char c = 'y';

	if (pid < 0)
		abort();
	if (pid > 0)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	if (sched_setaffinity(0, sizeof(set), &set) ||
	    (is_first && sched_setscheduler(0, SCHED_FIFO, &param)))
		c = 'n';
	while (write(to_test, &c, 1) == 1 && c == 'n')
		pause();
	for (;;)
		__asm__ volatile("" ::: "memory");
}

/* The last CPU that we may use, if there are others; else -1. */
static int spare_cpu(cpu_set_t *mine)
{
	int cpu = CPU_SETSIZE;

	if (sched_getaffinity(0, sizeof(*mine), mine) || CPU_COUNT(mine) < 2)
		return -1;
	while (--cpu >= 0 && !CPU_ISSET(cpu, mine))
		;
	return cpu;
}

/* Until it does not stop; the kernel gives it a little of the CPU now and then. */
static void check_no_cpu(pid_t pid)
{
	const struct ow_capture_options options = { .stop_timeout_ms = 20 };
	struct ow_error err = { 0 };
	struct ow_capture *c = NULL;
	char want[128];
	int i;

	snprintf(want, sizeof(want),
		 "process %d: thread did not stop in time, it got no CPU, or "
		 "is busy in the kernel",
		 pid);
	for (i = 0; i < 1000; i++) {
		c = ow_capture_process(pid, &options, &err);
		if (!c)
			break;
		ow_capture_destroy(c);
	}
	CHECK(!c && err.code == OW_CODE_TIMEOUT);
	CHECK(strcmp(err.msg, want) == 0);
}

/* A thread that would run is in no call, but another one has its CPU. */
static void test_gets_no_cpu(void)
{
	cpu_set_t mine, others;
	pid_t target, hog;
	char begun[2] = "";
	int cpu = spare_cpu(&mine), up[2];

	if (cpu < 0 || pipe(up))
		return;
	others = mine;
	CPU_CLR(cpu, &others);
	sched_setaffinity(0, sizeof(others), &others);
	target = begin_running(cpu, false, up[1]);
	CHECK(read(up[0], begun, 1) == 1);
	hog = begin_running(cpu, true, up[1]);
	CHECK(read(up[0], begun + 1, 1) == 1);
	if (begun[0] == 'y' && begun[1] == 'y')
		check_no_cpu(target);
	kill(hog, SIGKILL);
	kill(target, SIGKILL);
	waitpid(hog, NULL, 0);
	waitpid(target, NULL, 0);
	sched_setaffinity(0, sizeof(mine), &mine);
	close(up[0]);
	close(up[1]);
}

/* Who captures has its standard input afterwards, whatever comes of it. */
static void test_leaves_input(void)
{
	struct ow_error err = { 0 };
	int fd = open("/dev/null", O_RDONLY | O_CLOEXEC); /* 0, if it's free */
	pid_t pid = fork();

	if (pid == 0)
		_exit(0);
	CHECK(pid > 0 && waitpid(pid, NULL, 0) == pid);
	CHECK(!ow_capture_process(pid, NULL, &err));
	CHECK(err.code == OW_CODE_ABSENT);
	CHECK(fcntl(0, F_GETFD) >= 0);
	if (fd > 0)
		close(fd);
}

#define IMAGE   ((size_t)32 << 20)
#define FAR_OFF ((off_t)256 << 20) /* larger than any image */
#define BEHIND  ((size_t)1 << 30)

/* Has mapped a file that can't be opened as an object, from two offsets. */
static void be_far(int to_test)
{
	int fd = open("/dev/zero", O_RDONLY);
	void *near =
		mmap(NULL, IMAGE, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
	void *far = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, fd, FAR_OFF);
	char c = near != MAP_FAILED && far != MAP_FAILED ? 'y' : 'n';

	if (write(to_test, &c, 1) != 1)
		_exit(1);
	for (;;)
		pause();
}

static size_t count_touched(void *at, size_t size)
{
	unsigned char *pages = malloc(size / 4096);
	size_t nr = 0, i;

	if (!pages || mincore(at, size, pages))
		abort();
	for (i = 0; i < size / 4096; i++)
		nr += pages[i] & 1;
	free(pages);
	return nr;
}

/*
 * What is put together of an object's pieces in memory has no more bytes than
 * were asked for.  Those are mapped right below what nobody has touched.
 */
static void test_image_of_far_pieces(void)
{
	struct ow_module_info info;
	struct ow_capture *c;
	struct ow_error err;
	size_t i, nr;
	int up[2];
	char is_mapped = 'n';
	void *behind;
	pid_t pid;

	if (pipe(up))
		abort();
	pid = fork();
	if (pid == 0)
		be_far(up[1]);
	close(up[1]);
	CHECK(pid > 0 && read(up[0], &is_mapped, 1) == 1);
	close(up[0]);
	c = ow_capture_process(pid, NULL, &err);
	CHECK(c);
	behind = mmap(NULL, BEHIND, PROT_READ | PROT_WRITE,
		      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	CHECK(behind != MAP_FAILED);
	nr = c ? ow_capture_nr_modules(c) : 0;
	for (i = 0; is_mapped == 'y' && i < nr; i++)
		CHECK(!ow_capture_module(c, i, &info, &err));
	CHECK(count_touched(behind, BEHIND) == 0);
	munmap(behind, BEHIND);
	ow_capture_destroy(c);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

int main(void)
{
	static const struct test tests[] = {
		{ "a thread that stops too late", test_stops_too_late },
		{ "a thread that gets no CPU to stop on", test_gets_no_cpu },
		{ "standard input stays open", test_leaves_input },
		{ "an image of pieces far apart", test_image_of_far_pieces },
	};

	return test_main(tests, OW_ARRAY_SIZE(tests));
}
