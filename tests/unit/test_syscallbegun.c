// SPDX-License-Identifier: BSD-2-Clause
#include "syscallbegun.h"

#include <stdlib.h>
#include <string.h>

#include "monotonic.h"
#include "test.h"

#define NR 5000

static struct ow_recorded_syscall call_of(pid_t tid, int nr)
{
	return (struct ow_recorded_syscall){
		.event = OW_SYSCALL_BEGINS,
		.pid = 1,
		.tid = tid,
		.nr = nr,
	};
}

/* Threads come and go in an order of their own, and each is found until it has gone. */
static void test_many(void)
{
	struct syscallsbegun s = { 0 };
	struct ow_recorded_syscall c;
	struct syscall_begun *b, **list;
	pid_t tid;
	int wrong = 0;

	CHECK(!syscallbegun_find(&s, 1));
	for (tid = 1; tid <= NR; tid++) {
		c = call_of(tid * 7 % (NR + 1), tid);
		wrong += !syscallbegun_add(&s, &c);
	}
	CHECK(wrong == 0 && s.nr == NR);
	for (tid = 1; tid <= NR; tid += 3)
		syscallbegun_remove(&s, syscallbegun_find(&s, tid));
	for (tid = 1; tid <= NR; tid++) {
		b = syscallbegun_find(&s, tid);
		wrong += (tid % 3 == 1) != !b;
		wrong += b && (b->call.tid != tid || !b->is_open ||
			       (b->call.nr * 7 - tid) % (NR + 1) != 0);
	}
	CHECK(wrong == 0);
	list = syscallsbegun_list(&s);
	for (tid = 1; list && (size_t)tid < s.nr; tid++)
		wrong += list[tid - 1]->call.tid >= list[tid]->call.tid;
	CHECK(list && wrong == 0);
	free(list);
	syscallsbegun_deinit(&s);
}

/* Who executes a program ends a call that another thread of its process began. */
static void test_ends(void)
{
	struct ow_recorded_syscall c = call_of(20, 59); /* execve */
	struct ow_recorded_syscall end = call_of(10, 59);
	struct syscallsbegun s = { 0 };

	c.text = "text";
	c.text_size = 4;
	CHECK(syscallbegun_add(&s, &c));
	CHECK(strcmp(syscallbegun_find(&s, 20)->text, "text") == 0);
	CHECK(syscallbegun_end(&s, &end) == syscallbegun_find(&s, 20));
	end.result = -1;
	CHECK(!syscallbegun_end(&s, &end));
	end.tid = 20;
	CHECK(syscallbegun_end(&s, &end) == syscallbegun_find(&s, 20));
	syscallsbegun_deinit(&s);
}

static size_t nr_execs(const struct syscallsbegun *s)
{
	const struct syscall_begun *b;
	size_t nr = 0, i;

	for (i = 0; i < SYSCALLBEGUN_EXECS; i++)
		for (b = s->execs[i]; b; b = b->next)
			nr++;
	return nr;
}

#define EXECVE  59
#define WAITING 60000 /* threads that wait in other calls */
#define ENDS    50000 /* of executions whose begins weren't told */
#define MOST_NS 2000000000

/* Where another process executes a program, threads aren't searched for one that does. */
static void test_ends_without_begins(void)
{
	struct ow_recorded_syscall c, end = call_of(WAITING + 1, EXECVE);
	struct syscallsbegun s = { 0 };
	uint64_t begun;
	int i, wrong = 0;

	for (i = 1; i <= WAITING; i++) {
		c = call_of(i, 0);
		wrong += !syscallbegun_add(&s, &c);
	}
	c = call_of(WAITING + 2, EXECVE);
	c.pid = WAITING + 2;
	wrong += !syscallbegun_add(&s, &c);
	begun = ow_cpu_ns();
	for (i = 0; i < ENDS; i++)
		wrong += syscallbegun_end(&s, &end) != NULL;
	CHECK(ow_cpu_ns() - begun < MOST_NS);
	CHECK(wrong == 0 && nr_execs(&s) == 1);
	syscallsbegun_deinit(&s);
}

/* However a call that executes a program ends, it is none any more. */
static void test_count_of_executions(void)
{
	struct ow_recorded_syscall c = call_of(20, EXECVE);
	struct syscallsbegun s = { 0 };

	CHECK(syscallbegun_add(&s, &c) && nr_execs(&s) == 1);
	CHECK(syscallbegun_add(&s, &c) && nr_execs(&s) == 1);
	syscallbegun_close(&s, syscallbegun_find(&s, 20));
	CHECK(nr_execs(&s) == 0);
	syscallbegun_close(&s, syscallbegun_find(&s, 20));
	CHECK(nr_execs(&s) == 0);
	CHECK(syscallbegun_add(&s, &c) && nr_execs(&s) == 1);
	c.nr = 0;
	CHECK(syscallbegun_add(&s, &c) && nr_execs(&s) == 0);
	c.nr = EXECVE;
	CHECK(syscallbegun_add(&s, &c) && nr_execs(&s) == 1);
	syscallbegun_remove(&s, syscallbegun_find(&s, 20));
	CHECK(nr_execs(&s) == 0);
	syscallsbegun_deinit(&s);
}

int main(void)
{
	static const struct test tests[] = {
		{ "many threads", test_many },
		{ "what ends which", test_ends },
		{ "ends without begins", test_ends_without_begins },
		{ "how many execute a program", test_count_of_executions },
	};

	return test_main(tests, OW_ARRAY_SIZE(tests));
}
