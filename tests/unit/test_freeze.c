// SPDX-License-Identifier: BSD-2-Clause
/* Threads whose memory has changed between the list of mappings and the stop. */
#include "freeze.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "taken.h"
#include "test.h"

#define PAGE       4096UL
#define STACK_SIZE (256UL << 10)

/* A target of three threads, the last of which is born when it is told. */
struct target {
	pid_t pid;
	int to_target, from_target;
};

/* What is mapped before the fork: where the last thread's stack is to be. */
static uint8_t *stack;

static void *wait_for_ever(void *to_test)
{
	char c = 'x';

	if (to_test && write(*(int *)to_test, &c, 1) != 1)
		_exit(1);
	for (;;)
		pause();
	return NULL;
}

static void be_target(int from_test, int to_test)
{
	pthread_attr_t attr;
	pthread_t thread;
	char c;

	if (pthread_create(&thread, NULL, wait_for_ever, &to_test) ||
	    read(from_test, &c, 1) != 1 ||
	    mprotect(stack, STACK_SIZE, PROT_READ | PROT_WRITE) ||
	    pthread_attr_init(&attr) ||
	    pthread_attr_setstack(&attr, stack, STACK_SIZE) ||
	    pthread_create(&thread, &attr, wait_for_ever, &to_test))
		_exit(1);
	wait_for_ever(NULL);
}

static void begin_target(struct target *target)
{
	int down[2], up[2];
	char c;

	if (pipe(down) || pipe(up))
		abort();
	target->pid = fork();
	if (target->pid == 0)
		be_target(down[0], up[1]);
	close(down[0]);
	close(up[1]);
	target->to_target = down[1];
	target->from_target = up[0];
	if (target->pid < 0 || read(up[0], &c, 1) != 1)
		abort();
}

static void end_target(const struct target *target)
{
	kill(target->pid, SIGKILL);
	waitpid(target->pid, NULL, 0);
	close(target->to_target);
	close(target->from_target);
}

/* Return true if the region copied of a thread's stack has what sp points to. */
static bool has_stack(const struct ow_taken *t, size_t i)
{
	const struct ow_capture_thread *thread = &t->c->threads[i];
	const struct ow_region *r;
	uint64_t sp;

	if (!thread->info.captured || t->threads[i].region < 0)
		return false;
	r = &t->copy.regions[t->threads[i].region];
	sp = thread->regs.val[t->threads[i].arch->sp];
	return sp >= r->start && sp - r->start < r->size;
}

/* Whoever holds threads is a thread that ends. */
static void *freeze_all(void *t)
{
	ow_freeze_all(t);
	return NULL;
}

/*
 * When mappings were listed, the new thread's stack had no access yet, as in
 * pthread_create(), and looked as the guard of the stack above it.
 */
static void test_stack_without_access(void)
{
	static const struct ow_capture_options options;
	struct ow_capture *c = ow_capture_create(NULL);
	struct ow_taken t;
	struct target target;
	pthread_t holder;
	char go = 'x';
	size_t nr, i;

	stack = mmap(NULL, 2 * STACK_SIZE, PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (!c || stack == MAP_FAILED || mprotect(stack, STACK_SIZE, PROT_NONE))
		abort();
	begin_target(&target);
	c->pid = c->live = target.pid;
	CHECK(!ow_taken_begin(&t, c, -1, &options, NULL));
	CHECK(!ow_taken_list(&t, &nr, NULL) && nr == 2);
	CHECK(!ow_taken_list_mappings(&t, NULL));
	CHECK(!ow_taken_reserve(&t, NULL));
	CHECK(write(target.to_target, &go, 1) == 1 &&
	      read(target.from_target, &go, 1) == 1);
	CHECK(!pthread_create(&holder, NULL, freeze_all, &t) &&
	      !pthread_join(holder, NULL));
	CHECK(c->nr_threads == 3);
	for (i = 0; i < c->nr_threads; i++)
		CHECK(has_stack(&t, i));
	end_target(&target);
	ow_taken_free(&t);
	ow_capture_destroy(c);
	munmap(stack, 2 * STACK_SIZE);
}

int main(void)
{
	static const struct test tests[] = {
		{ "a stack that was without access",
		  test_stack_without_access },
	};

	return test_main(tests, OW_ARRAY_SIZE(tests));
}
