// SPDX-License-Identifier: BSD-2-Clause
/* Threads that wait, whose stacks have the kernel asked about what is mapped. */
#include "blocked.h"

#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "arch.h"
#include "procfs.h"
#include "taken.h"
#include "test.h"

#define STACK_SIZE (128UL << 10)
#define MARKS_SIZE (64UL << 10)
#define APART      0x10000ULL /* each such address looks like a mark */
#define NR_MARKS   (MARKS_SIZE / sizeof(uint64_t))
#define HOLE_SIZE  (NR_MARKS * APART)
#define PAGE       4096UL
#define LIMIT_MS   2000 /* of which a half is for questions */
#define ANSWER_MS  10
#define MOST_LOOKS 20000 /* until it waits */
#define ROUNDS     5     /* a thread that moves is looked at again */
#define OTHERS     50    /* of a round, about code and the stack */

static size_t nr_questions; /* about what is mapped */
static unsigned int answer_us;

/* Ask the kernel, which lets us wait for each answer. */
int ioctl(int fd, unsigned long request, ...)
{
	va_list args;
	void *arg;

	va_start(args, request);
	arg = va_arg(args, void *);
	va_end(args);
	nr_questions++;
	usleep(answer_us);
	return (int)syscall(SYS_ioctl, fd, request, arg);
}

static int wait_for_ever(void *to_test)
{
	char c = 'x';

	if (write(*(int *)to_test, &c, 1) != 1)
		_exit(1);
	for (;;)
		pause();
	return 0;
}

/*
 * A process whose first thread waits on a stack of its own making.  Above its frames are
 * marks of signals' frames only, each with another address where nothing is mapped, below a
 * page that can't be written to.
 */
static pid_t begin_target(void)
{
	uint8_t *stack = mmap(NULL, STACK_SIZE, PROT_READ | PROT_WRITE,
			      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uint8_t *hole = mmap(NULL, HOLE_SIZE + PAGE, PROT_READ,
			     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1,
			     0);
	uint64_t end = (uint64_t)(uintptr_t)hole + HOLE_SIZE;
	uint64_t *marks = (uint64_t *)(stack + STACK_SIZE - MARKS_SIZE);
	int up[2];
	pid_t pid;
	size_t i;
	char c;

	if (stack == MAP_FAILED || hole == MAP_FAILED || pipe(up) ||
	    munmap(hole, HOLE_SIZE))
		abort();
	for (i = 0; i < NR_MARKS; i++)
		marks[i] = (end / APART - 1 - i) * APART + 0x33;
	pid = clone(wait_for_ever, marks, SIGCHLD, &up[1]);
	close(up[1]);
	if (pid < 0 || read(up[0], &c, 1) != 1)
		abort();
	close(up[0]);
	for (i = 0; i < MOST_LOOKS && ow_status_state(pid) != 'S'; i++)
		usleep(1000);
	munmap(stack, STACK_SIZE);
	return pid;
}

/* What a stack leads to is looked for as long as there is time, not to its end. */
static void test_many_marks(void)
{
	static const struct ow_capture_options options = {
		.freeze_limit_ms = LIMIT_MS,
	};
	struct ow_capture *c = ow_capture_create(NULL);
	pid_t target = begin_target();
	struct ow_taken t;
	size_t nr;

	if (!c)
		abort();
	c->pid = c->live = target;
	CHECK(!ow_taken_begin(&t, c, -1, &options, NULL));
	CHECK(!ow_taken_list(&t, &nr, NULL) && nr == 1);
	CHECK(!ow_taken_list_mappings(&t, NULL));
	CHECK(!ow_taken_reserve(&t, NULL));
	nr_questions = 0;
	answer_us = ANSWER_MS * 1000;
	ow_blocked_take(&t);
	answer_us = 0;
	CHECK(c->threads[0].info.captured && t.threads[0].region >= 0);
	CHECK(nr_questions < ROUNDS * (LIMIT_MS / 2 / ANSWER_MS + OTHERS));
	/* The marks are x86's, and not every kernel can be asked. */
	CHECK(t.threads[0].is_unsearched || !t.maps.is_part ||
	      t.threads[0].arch != &ow_arch_x86_64);
	kill(target, SIGKILL);
	waitpid(target, NULL, 0);
	ow_taken_free(&t);
	ow_capture_destroy(c);
}

int main(void)
{
	static const struct test tests[] = {
		{ "a stack full of marks of signals' frames", test_many_marks },
	};

	return test_main(tests, OW_ARRAY_SIZE(tests));
}
