// SPDX-License-Identifier: BSD-2-Clause
#include "freeze.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "callabi.h"
#include "delegate.h"
#include "error.h"
#include "monotonic.h"
#include "procfs.h"
#include "prstatus.h"
#include "restart.h"
#include "standing.h"
#include "taken.h"

#define LISTING_ROUNDS  16
#define EMPTY_LISTS     3    /* in a row, until all that can be are listed */
#define MOST_LISTINGS   64   /* while threads are stopped, of all moments */
#define STOP_TIMEOUT_MS 1000 /* and one more for each thread, */
#define MOST_MORE_MS    1000 /* but no more than that */
#define GRACE_NS        50000000 /* to stop in, when others had all the time, */
#define MOST_GRACE_NS   10000000000 /* until so much was waited for them, */
#define LEAST_NS        200000 /* then, which is longer where CPUs are busy, */
#define MOST_LEAST_NS   12000000000 /* until so much */
#define STARVED_NS      5000000000  /* for those that have no CPU to stop on, */
#define STARVED_LOOK_NS 100000000   /* as is looked at so often */
#define STOP_TOGETHER   256 /* threads that are told before any is waited for */
#define COMPARING_NS    1000000000 /* for what is mapped, of all threads each */
#define WAITING_NS      4000000000 /* for copies of each that wait */
#define WAIT_NS         20000000   /* that a copy takes at least if it waits */

/* Is this thread still to be taken? */
static bool is_open(const struct ow_taken *t, size_t i)
{
	return !t->c->threads[i].info.captured &&
	       t->threads[i].stop.why.code == 0;
}

/* Return true if one of these threads is still to be taken. */
static bool is_any_open(const struct ow_taken *t, size_t first, size_t end)
{
	size_t i;

	for (i = first; i < end; i++)
		if (is_open(t, i))
			return true;
	return false;
}

/*
 * Seize those that aren't yet.  A thread that is ours stops at the next signal, and stands
 * still until its turn: so only those are seized ahead that are stopped first.
 */
static void seize(struct ow_taken *t, size_t first, size_t end)
{
	struct ow_capture *c = t->c;
	size_t i;

	for (i = first; i < end; i++)
		if (is_open(t, i) && t->threads[i].stop.state == OW_STOP_NONE &&
		    ow_stop_seize(&t->threads[i].stop, t->dir, c->pid,
				  c->threads[i].info.tid))
			ow_taken_name(t, i);
}

/* For how long all threads together may be waited for that don't stop, in ns. */
static uint64_t patience(const struct ow_taken *t)
{
	uint64_t ms = t->options->stop_timeout_ms, nr = t->c->nr_threads;

	if (ms == 0)
		ms = STOP_TIMEOUT_MS + (nr < MOST_MORE_MS ? nr : MOST_MORE_MS);
	return ms * 1000000;
}

/*
 * Until when to wait for threads to stop, of CLOCK_MONOTONIC.  Others that have
 * stopped stand still meanwhile, which is not to be for longer than a moment.
 */
static uint64_t deadline(const struct ow_taken *t)
{
	uint64_t most = ow_taken_moment_ns(t->options);
	uint64_t all = patience(t), ns = 0;

	if (most < OW_TAKEN_MOMENT_MS * 1000000ULL)
		most = OW_TAKEN_MOMENT_MS * 1000000ULL;
	if (ow_delegate_must_end())
		return ow_now_ns();
	if (t->options->stop_timeout_ms == UINT_MAX)
		return UINT64_MAX;
	if (t->waited_ns < all)
		ns = all - t->waited_ns;
	else if (t->waited_ns < MOST_GRACE_NS)
		ns = GRACE_NS;
	else if (t->waited_ns < MOST_LEAST_NS)
		ns = LEAST_NS;
	if (t->options->stop_timeout_ms == 0 && ns > most)
		ns = most;
	return ow_now_ns() + ns;
}

/* Wait for a thread that was told to stop. */
static void wait_for(struct ow_taken *t, size_t i, uint64_t until)
{
	struct ow_stop *s = &t->threads[i].stop;
	uint64_t begun = ow_now_ns();

	t->c->stats.sleeps += ow_stop_wait(s, until);
	if (s->state == OW_STOP_SEIZED)
		t->waited_ns += ow_now_ns() - begun;
}

/*
 * A thread that is late, but would run, stops once it gets a CPU, such as when its
 * cgroup's quota is renewed.  No other one stands still meanwhile.
 */
static void wait_for_cpu(struct ow_taken *t, size_t i)
{
	struct ow_stop *s = &t->threads[i].stop;
	uint64_t begun;

	while (s->is_late && t->options->stop_timeout_ms == 0 &&
	       t->starved_ns < STARVED_NS && ow_status_state(s->tid) == 'R') {
		begun = ow_now_ns();
		ow_stop_be_patient(s);
		t->c->stats.sleeps += ow_stop_wait(s, begun + STARVED_LOOK_NS);
		t->starved_ns += ow_now_ns() - begun;
	}
}

/*
 * Stop threads from first on, until enough_ns of CLOCK_MONOTONIC; at least some.
 * Return the first one that wasn't told to stop.
 */
static size_t stop(struct ow_taken *t, size_t first, size_t end,
		   uint64_t enough_ns)
{
	uint64_t until;
	size_t i, last;

	do {
		last = end - first > STOP_TOGETHER ? first + STOP_TOGETHER :
						     end;
		seize(t, first, last);
		for (i = first; i < last; i++)
			ow_stop_interrupt(&t->threads[i].stop);
		until = deadline(t);
		for (i = first; i < last; i++)
			wait_for(t, i, until);
		first = last;
	} while (first < end && ow_now_ns() < enough_ns);
	return first;
}

/*
 * Return true if threads were born since they were listed last, or no list had them: they
 * are listed now.
 */
static bool are_more(struct ow_taken *t)
{
	int i, most = t->c->stats.moments == 0 ? EMPTY_LISTS : 1;
	size_t nr;

	for (i = 0; i < most; i++) {
		if (ow_delegate_must_end() || !ow_taken_may_lack(t) ||
		    ow_taken_list(t, &nr, NULL))
			return false;
		if (nr > 0)
			return true;
	}
	return false;
}

/* List all, also those that are born meanwhile, and seize the first ones. */
static void prepare(struct ow_taken *t)
{
	size_t nr;
	int round = 0;

	do {
		nr = t->c->nr_threads;
		seize(t, 0, nr < STOP_TOGETHER ? nr : STOP_TOGETHER);
	} while (are_more(t) && round++ < LISTING_ROUNDS);
}

/* What was not even told to stop when the look at the process ended. */
static void explain_unstopped(struct ow_taken *t)
{
	size_t i;

	for (i = 0; i < t->c->nr_threads; i++) {
		if (!is_open(t, i))
			continue;
		t->is_lacking = true;
		ow_fail(&t->threads[i].stop.why, OW_CODE_TIMEOUT,
			"thread was started while others were stopped, and "
			"there was no time for it");
	}
}

/*
 * Stop all from first on, also those that were born before the last one stopped, or
 * as many as there is time for in one moment: to copy their stacks and let go of
 * them takes about twice as long.  Return the first one that was left out.
 */
static size_t stop_all(struct ow_taken *t, size_t first)
{
	uint64_t enough_ns = ow_now_ns() + ow_taken_moment_ns(t->options) / 3;

	do {
		first = stop(t, first, t->c->nr_threads, enough_ns);
		if (first < t->c->nr_threads)
			return first;
		if (!are_more(t)) {
			if (t->c->stats.moments == 0)
				ow_taken_count(t, true);
			return first;
		}
		if (t->listings++ == MOST_LISTINGS)
			return t->c->nr_threads;
	} while (ow_now_ns() < enough_ns);
	return first;
}

static void explain_no_regs(struct ow_stop *s)
{
	if (errno == ESRCH)
		ow_fail(&s->why, OW_CODE_ABSENT, "thread exited while stopped");
	else
		ow_fail(&s->why, OW_CODE_SYSTEM, "read registers");
}

/* Where registers don't hold the thread pointer, a descriptor may. */
static void take_tls(struct ow_taken *t, size_t i, const uint8_t *bytes,
		     size_t size)
{
	const struct ow_arch *arch = t->threads[i].arch;

	if (arch && t->threads[i].tp == 0)
		t->threads[i].tp =
			ow_stop_tls(&t->threads[i].stop,
				    ow_prstatus_tls(arch, bytes, size));
}

static void take_regs(struct ow_taken *t, size_t i)
{
	struct ow_stop *s = &t->threads[i].stop;
	uint8_t bytes[512];
	size_t size;

	if (s->state != OW_STOP_STOPPED)
		return;
	size = ow_stop_regs(s, bytes, sizeof(bytes));
	if (size == 0) {
		explain_no_regs(s);
		return;
	}
	ow_restart_call(s, bytes, size);
	ow_callabi_ask(t, i, bytes, size);
	ow_taken_regs(t, i, bytes, size);
	take_tls(t, i, bytes, size);
	t->c->threads[i].info.stopped = t->c->threads[i].info.captured;
	t->c->threads[i].info.certain = t->c->threads[i].info.captured;
	t->threads[i].stands = t->c->threads[i].info.captured;
	t->mem.stopped = s->tid;
}

static void release(struct ow_taken *t, size_t i)
{
	struct ow_stop *s = &t->threads[i].stop;

	t->c->stats.stopped += s->state == OW_STOP_STOPPED;
	ow_stop_release(s);
}

/*
 * Return true if we hold a signal that is on its way to one of these threads.  If we are
 * ended, as in a read that nobody serves, it is lost: another has to read then.
 */
static bool holds_signals(const struct ow_taken *t, size_t first, size_t end)
{
	size_t i;

	for (i = first; i < end; i++)
		if (t->threads[i].stop.state == OW_STOP_STOPPED &&
		    t->threads[i].stop.signal)
			return true;
	return false;
}

/* All that is done with threads [first, end) while they are stopped. */
static void take_stopped(struct ow_taken *t, size_t first, size_t end)
{
	size_t i;

	for (i = first; i < end; i++)
		take_regs(t, i);
	if (holds_signals(t, first, end))
		t->copy.is_careful = true;
	if (ow_standing_settle_live(t, first, end)) {
		ow_standing_plan(t, first, end);
		ow_taken_copy(t, first, end - first);
	}
	for (i = first; i < end; i++)
		release(t, i);
	ow_taken_let_go_others(t);
}

/*
 * Threads [first, end) have stood still for that many ns, and go on: now those that were
 * late can be asked about.
 */
static void note_times(struct ow_taken *t, size_t first, size_t end,
		       uint64_t took)
{
	size_t i;

	for (i = first; i < end; i++) {
		t->threads[i].stopped_ns = took;
		ow_stop_explain_late(&t->threads[i].stop);
	}
}

static int time_order(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

static void sum_up_times(struct ow_taken *t)
{
	uint64_t *times = calloc(t->c->nr_threads, sizeof(*times));
	size_t i, nr = 0;

	for (i = 0; times && i < t->c->nr_threads; i++)
		if (t->threads[i].stopped_ns)
			times[nr++] = t->threads[i].stopped_ns;
	if (nr > 0) {
		qsort(times, nr, sizeof(*times), time_order);
		t->c->stats.longest_ns = times[nr - 1];
		t->c->stats.median_ns = times[nr / 2];
	}
	free(times);
}

/* Threads from first on, in one moment; return the first one left. */
static size_t freeze_moment(struct ow_taken *t, size_t first)
{
	uint64_t start = ow_now_ns();
	size_t end = stop_all(t, first);

	take_stopped(t, first, end);
	note_times(t, first, end, ow_now_ns() - start);
	t->c->stats.moments++;
	return end;
}

void ow_freeze_all(struct ow_taken *t)
{
	struct ow_capture_stats *stats = &t->c->stats;
	uint64_t start;
	size_t first = 0;

	prepare(t);
	if (!is_any_open(t, 0, t->c->nr_threads))
		return;
	start = ow_now_ns();
	do {
		first = freeze_moment(t, first);
		stats->freeze_ns = ow_now_ns() - start;
		ow_standing_check_shared(t);
	} while (first < t->c->nr_threads);
	explain_unstopped(t);
	stats->longest_ns = stats->freeze_ns;
	stats->median_ns = stats->freeze_ns;
	if (stats->moments > 1)
		sum_up_times(t);
}

/*
 * How many of the threads that are left to take together, if it took spent_ns of most_ns
 * so far, and ns the last time.
 */
static uint64_t share_time(uint64_t left, uint64_t ns, uint64_t spent_ns,
			   uint64_t most_ns)
{
	uint64_t rest = most_ns / 2;

	if (spent_ns < most_ns / 2)
		return 1;
	if (spent_ns < most_ns)
		rest = most_ns - spent_ns;
	if (rest < most_ns / 8)
		rest = most_ns / 8;
	return left * ns / rest + 1;
}

/*
 * How many threads to stop together from first on.  What is mapped is compared in
 * each stop, and reads wait for who changes what is mapped: if that takes long, one
 * by one would take its time again for each.
 */
static size_t together(const struct ow_taken *t, size_t first)
{
	uint64_t left = t->c->nr_threads - first;
	uint64_t nr = share_time(left, t->comparison_ns, t->compared_ns,
				 COMPARING_NS);
	uint64_t nr_waits =
		share_time(left, t->slow_stop_ns, t->slow_stops_ns, WAITING_NS);

	if (nr < nr_waits)
		nr = nr_waits;
	if (nr > STOP_TOGETHER)
		nr = STOP_TOGETHER;
	return nr < left ? nr : left;
}

/* So long it took to take what had stopped, and to look at what is mapped then. */
static void note_wait(struct ow_taken *t, uint64_t ns)
{
	if (ns < WAIT_NS)
		return;
	t->slow_stop_ns = ns;
	t->slow_stops_ns += ns;
}

static void freeze_some(struct ow_taken *t, size_t first, size_t end)
{
	uint64_t start, stopped;

	seize(t, first, end);
	if (!is_any_open(t, first, end))
		return;
	start = ow_now_ns();
	stop(t, first, end, 0);
	if (end - first == 1)
		wait_for_cpu(t, first);
	stopped = ow_now_ns();
	take_stopped(t, first, end);
	note_times(t, first, end, ow_now_ns() - start);
	ow_standing_check_shared(t);
	note_wait(t, ow_now_ns() - stopped);
	if (end - first > t->most_together)
		t->most_together = end - first;
}

void ow_freeze_each(struct ow_taken *t)
{
	uint64_t start = ow_now_ns();
	size_t i = 0, end;
	int round = 0;

	do {
		for (; i < t->c->nr_threads; i = end) {
			end = i + together(t, i);
			freeze_some(t, i, end);
		}
	} while (are_more(t) && round++ < LISTING_ROUNDS);
	explain_unstopped(t);
	t->c->stats.freeze_ns = ow_now_ns() - start;
	sum_up_times(t);
}
