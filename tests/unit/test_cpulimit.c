// SPDX-License-Identifier: BSD-2-Clause
#include "cpulimit.h"

#include <signal.h>
#include <unistd.h>

#include "monotonic.h"
#include "test.h"
#include "worktime.h"

#define SECOND 1000000000ULL

static bool is_stopped(const struct ow_cpulimit *l)
{
	return __atomic_load_n(&l->stop, __ATOMIC_RELAXED);
}

static uint64_t worked(void)
{
	return ow_worktime_ns(ow_worktime_mine());
}

/* Work until it is to stop, for ns at most; return what it took. */
static uint64_t work(const struct ow_cpulimit *l, uint64_t ns)
{
	uint64_t begun = worked();

	while (!is_stopped(l) && worked() - begun < ns)
		;
	return worked() - begun;
}

/* Work as another thread. */
static void *work_beside(void *arg)
{
	work(arg, SECOND);
	return NULL;
}

static void test_work_ends(void)
{
	struct ow_cpulimit l;
	uint64_t took;

	ow_cpulimit_begin(&l, SECOND / 5, 0, NULL);
	took = work(&l, 10 * SECOND);
	CHECK(is_stopped(&l));
	CHECK(took >= SECOND / 5 && took < 5 * SECOND);
	ow_cpulimit_end(&l);
}

/* Time alone isn't work. */
static void test_who_waits_goes_on(void)
{
	struct ow_cpulimit l;

	ow_cpulimit_begin(&l, SECOND / 5, 0, NULL);
	usleep(500000);
	CHECK(!is_stopped(&l));
	ow_cpulimit_end(&l);
}

/* Few steps may take long, but not any time. */
static void test_steps(void)
{
	struct ow_cpulimit l;
	uint64_t took;

	ow_cpulimit_begin(&l, SECOND, 1000, NULL);
	work(&l, 3 * SECOND / 2);
	CHECK(!is_stopped(&l));
	ow_worktime_step(1000);
	work(&l, 10 * SECOND);
	CHECK(is_stopped(&l));
	ow_cpulimit_end(&l);

	ow_cpulimit_begin(&l, SECOND / 5, 1000, NULL);
	took = work(&l, 20 * SECOND);
	CHECK(is_stopped(&l));
	CHECK(took >= 4 * SECOND / 5 && took < 10 * SECOND);
	ow_cpulimit_end(&l);
}

static void test_also(void)
{
	struct ow_cpulimit l;
	bool also = false;

	ow_cpulimit_begin(&l, 600 * SECOND, 0, &also);
	work(&l, SECOND / 10);
	CHECK(!is_stopped(&l));
	__atomic_store_n(&also, true, __ATOMIC_RELAXED);
	work(&l, 10 * SECOND);
	CHECK(is_stopped(&l));
	ow_cpulimit_end(&l);
}

static void *step_beside(void *arg)
{
	ow_worktime_step(1000);
	return arg;
}

static void test_steps_of_a_helper(void)
{
	uint64_t before = ow_worktime_steps(ow_worktime_mine());
	struct ow_helper helper;

	CHECK(!ow_helper_start(&helper, step_beside, NULL));
	ow_helper_join(&helper);
	CHECK(ow_worktime_steps(ow_worktime_mine()) == before + 1000);
}

/* A program's other threads work on something else. */
static void test_other_threads_do_not_count(void)
{
	struct ow_cpulimit l;
	pthread_t others[4];
	size_t i;

	ow_cpulimit_begin(&l, SECOND, 0, NULL);
	for (i = 0; i < OW_ARRAY_SIZE(others); i++)
		CHECK(!pthread_create(&others[i], NULL, work_beside, &l));
	for (i = 0; i < OW_ARRAY_SIZE(others); i++)
		pthread_join(others[i], NULL);
	usleep(100000);
	CHECK(!is_stopped(&l));
	ow_cpulimit_end(&l);
}

static void test_a_helper_counts(void)
{
	uint64_t begun = worked();
	struct ow_cpulimit l;
	struct ow_helper helper;

	ow_cpulimit_begin(&l, SECOND / 5, 0, NULL);
	CHECK(!ow_helper_start(&helper, work_beside, &l));
	ow_helper_join(&helper);
	CHECK(is_stopped(&l));
	CHECK(worked() - begun >= SECOND / 5);
	ow_cpulimit_end(&l);
}

static void test_little_is_done_at_once(void)
{
	uint64_t begun = ow_now_ns();
	struct ow_cpulimit l;
	int i;

	for (i = 0; i < 20; i++) {
		ow_cpulimit_begin(&l, SECOND, 0, NULL);
		CHECK(!is_stopped(&l));
		ow_cpulimit_end(&l);
	}
	CHECK(ow_now_ns() - begun < 5 * SECOND);
}

/* As kunwindd has them, which reads them from a descriptor. */
static void test_a_signal_that_is_pending(void)
{
	struct ow_cpulimit l;
	sigset_t set;
	int got;

	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	ow_cpulimit_begin(&l, 600 * SECOND, 0, NULL);
	kill(getpid(), SIGTERM);
	work(&l, 10 * SECOND);
	CHECK(is_stopped(&l));
	ow_cpulimit_end(&l);
	CHECK(sigwait(&set, &got) == 0 && got == SIGTERM);
	pthread_sigmask(SIG_UNBLOCK, &set, NULL);
}

int main(void)
{
	static const struct test tests[] = {
		{ "work ends", test_work_ends },
		{ "who waits goes on", test_who_waits_goes_on },
		{ "steps", test_steps },
		{ "another one's wish", test_also },
		{ "steps of a helper", test_steps_of_a_helper },
		{ "other threads do not count",
		  test_other_threads_do_not_count },
		{ "a helper counts", test_a_helper_counts },
		{ "little is done at once", test_little_is_done_at_once },
		{ "a signal that is pending", test_a_signal_that_is_pending },
	};

	return test_main(tests, OW_ARRAY_SIZE(tests));
}
