// SPDX-License-Identifier: BSD-2-Clause
#include "standing.h"

#include <unistd.h>

#include "error.h"
#include "monotonic.h"
#include "sharers.h"
#include "taken.h"

/* For what a process replaces that shares the memory. */
#define LOOKS      8
#define MOST_LOOKS 30 /* while nothing is seen */
#define LOOK_US    1000
#define LOOKING_NS 1000000000 /* for all, if much is mapped */
#define WINDOW_NS  100000     /* in which code may be replaced, and back */

bool ow_standing_settle_live(struct ow_taken *t, size_t first, size_t end)
{
	size_t i;

	for (i = first; i < end; i++) {
		if (t->threads[i].stands) {
			t->c->live = t->c->threads[i].info.tid;
			/* That may be the memory from before an exec. */
			ow_processmem_close(&t->mem);
			t->mem.pid = t->c->live;
			return true;
		}
	}
	return false;
}

/*
 * Return true if what is listed tells where this thread is.  Code that isn't listed
 * was mapped since, and what called that maybe, too; the thread's stack may just not
 * have been asked for.  A stack that is listed without access may have it by now, as
 * pthread_create() first maps it so.
 */
static bool is_mapped(struct ow_taken *t, size_t i)
{
	const struct ow_arch *arch = t->threads[i].arch;
	const uint64_t *val = t->c->threads[i].regs.val;
	const struct ow_mapping *m;

	if (!ow_mappings_has(&t->maps, val[arch->pc]))
		return false;
	m = ow_mappings_from(&t->maps, val[arch->sp]);
	return m && m->start <= val[arch->sp] && m->readable;
}

static bool are_mapped(struct ow_taken *t, size_t first, size_t end)
{
	size_t i;

	for (i = first; i < end; i++)
		if (t->threads[i].stands && !is_mapped(t, i))
			return false;
	return true;
}

/* It isn't known what their addresses mean. */
static void give_up(struct ow_taken *t, size_t first, size_t end,
		    const struct ow_error *err)
{
	size_t i;

	for (i = first; i < end; i++) {
		if (!t->threads[i].stands)
			continue;
		t->c->threads[i].info.captured = false;
		if (err->code == OW_CODE_ABSENT &&
		    t->c->threads[i].info.stopped)
			ow_fail(&t->threads[i].stop.why, OW_CODE_ABSENT,
				"thread exited while stopped");
		else
			t->threads[i].stop.why = *err;
	}
}

static void renew_mappings(struct ow_taken *t, size_t first, size_t end)
{
	bool is_current = ow_mappings_is_current(&t->maps, t->c->live);
	struct ow_error err;

	if (is_current && are_mapped(t, first, end))
		return;
	if (ow_taken_renew_mappings(t, &err) && !is_current)
		give_up(t, first, end, &err);
}

/* Return true if threads wait for us, which is not to be for longer than a moment. */
static bool stand_still(const struct ow_taken *t, size_t first, size_t end)
{
	size_t i;

	for (i = first; i < end; i++)
		if (t->threads[i].stands && t->c->threads[i].info.stopped)
			return true;
	return false;
}

void ow_standing_plan(struct ow_taken *t, size_t first, size_t end)
{
	uint64_t begun = t->planned_ns = ow_now_ns();
	size_t i;

	if (stand_still(t, first, end))
		t->maps.until_ns = begun + ow_taken_moment_ns(t->options);
	renew_mappings(t, first, end);
	t->comparison_ns = ow_now_ns() - begun;
	t->compared_ns += t->comparison_ns;
	t->plan.until_ns = ow_now_ns() + ow_taken_moment_ns(t->options) / 2;
	t->maps.until_ns = t->plan.until_ns;
	for (i = first; i < end; i++) {
		if (t->threads[i].stands)
			ow_taken_plan_stack(t, i);
		t->threads[i].stands = false;
	}
	t->maps.until_ns = 0;
}

void ow_standing_check(struct ow_taken *t)
{
	uint64_t begun = ow_now_ns();

	if (!ow_mappings_is_current(&t->maps, t->c->live))
		ow_taken_renew_mappings(t, NULL);
	t->compared_ns += ow_now_ns() - begun;
}

/* What another process replaces now it may have replaced before, and back. */
static void watch_sharer(struct ow_taken *t)
{
	uint64_t until = ow_now_ns() + LOOKING_NS;
	int i;

	t->replaced.is_any_time = true;
	for (i = 0; i < (t->replaced.nr > 0 ? LOOKS : MOST_LOOKS); i++) {
		if (ow_now_ns() > until)
			break;
		usleep(LOOK_US);
		ow_taken_let_go_others(t);
		ow_standing_check(t);
	}
}

void ow_standing_check_shared(struct ow_taken *t)
{
	if (ow_mappings_is_current(&t->maps, t->c->live) && t->list == 0 &&
	    (ow_now_ns() - t->planned_ns < WINDOW_NS || !ow_sharers_are_due()))
		return;
	if (!t->sharers_asked) {
		t->sharers_asked = true;
		t->sharing = ow_sharers_look(t->c->pid, t->c->live);
		if (t->sharing != OW_SHARING_NONE)
			watch_sharer(t);
	}
	if (t->sharing != OW_SHARING_NONE)
		ow_standing_check(t);
}
