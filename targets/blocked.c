// SPDX-License-Identifier: BSD-2-Clause
#include "blocked.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "callabi.h"
#include "callentry.h"
#include "error.h"
#include "monotonic.h"
#include "procfs.h"
#include "reach.h"
#include "standing.h"
#include "taken.h"
#include "waitplace.h"

#define BATCH     64 /* threads looked at together: two open files each */
#define ROUNDS    4
#define LINE_SIZE 256

/* For what is mapped, which is compared for each batch. */
#define COMPARING_NS 2000000000ULL

/* For what the stacks of all threads lead to, in all rounds. */
#define SEARCHING_NS 2000000000ULL

/* A thread that is being looked at. */
struct watch {
	size_t i; /* of the capture's threads */
	pid_t tid;
	int syscall, schedstat;
	unsigned long long turns; /* how often it was given a CPU */
	bool is_doubtful; /* its pc may be of a segment with another base, */
	bool is_in_call;  /* but in a call its way into the kernel may tell, */
	struct ow_callentry entry;
	ssize_t code; /* or its instruction: the region of that, or -1 */
	char line[LINE_SIZE];
};

static ssize_t read_line(int fd, char *line)
{
	ssize_t n = -1;

	if (fd >= 0 && lseek(fd, 0, SEEK_SET) == 0)
		n = ow_reach_read(fd, line, LINE_SIZE - 1);
	line[n > 0 ? n : 0] = '\0';
	return n;
}

/*
 * How often the thread was given a CPU (Linux, scheduler/sched-stats.rst):
 * the third number.  Where the kernel doesn't count that it says 0, and how
 * often the thread let go of a CPU has to do.  False: not known.
 */
static bool read_turns(const struct watch *w, unsigned long long *ret)
{
	long given, taken;
	char line[LINE_SIZE];

	if (read_line(w->schedstat, line) > 0 &&
	    sscanf(line, "%*u %*u %llu", ret) == 1 && *ret > 0)
		return true;
	given = ow_status_number(w->tid, "voluntary_ctxt_switches:");
	taken = ow_status_number(w->tid, "nonvoluntary_ctxt_switches:");
	*ret = (unsigned long long)given + (unsigned long long)taken;
	return given >= 0 && taken >= 0;
}

static int open_task(const struct ow_taken *t, size_t i, const char *name)
{
	char path[48];

	snprintf(path, sizeof(path), "%d/%s", t->c->threads[i].info.tid, name);
	return ow_reach_openat(t->dir, path, O_RDONLY);
}

static void unwatch(struct watch *w)
{
	if (w->syscall >= 0)
		close(w->syscall);
	if (w->schedstat >= 0)
		close(w->schedstat);
}

/* Why the file can't be read. */
static void explain(const struct ow_taken *t, const struct watch *w,
		    int os_errno)
{
	struct ow_error *why = &t->threads[w->i].stop.why;
	_cleanup_(ow_closep) int dir = -1;
	char name[16];

	snprintf(name, sizeof(name), "%d", w->tid);
	if (os_errno == ENOENT)
		dir = ow_reach_openat(t->dir, name, O_PATH);
	if (dir >= 0)
		ow_fail(why, OW_CODE_UNSUPPORTED,
			"this kernel doesn't tell where a thread waits "
			"(/proc/PID/syscall): it has to be stopped");
	else if (os_errno == EPERM || os_errno == EACCES)
		ow_fail(why, OW_CODE_PERMISSION,
			"not allowed to look at it: run as its user or as "
			"root");
	else if (os_errno == ENOENT || os_errno == ESRCH)
		ow_fail(why, OW_CODE_ABSENT, "thread has exited");
	else
		ow_fail(why, OW_CODE_FAULT, "read its syscall file: %s",
			strerror(os_errno));
}

/* "NUMBER ARGS SP PC" of a thread that waits; else it runs. */
static bool parse_line(const char *line, uint64_t *sp, uint64_t *pc)
{
	unsigned long long s, p;
	const char *space = strrchr(line, ' ');

	if (!space || sscanf(space, " %llx", &p) != 1)
		return false;
	while (space > line && *--space != ' ')
		;
	if (space == line || sscanf(space, " %llx", &s) != 1)
		return false;
	*sp = s;
	*pc = p;
	return true;
}

/* Where pc may be false, and where it is asked whose the call is. */
static void ask_for_entry(const struct ow_taken *t, struct watch *w,
			  const struct ow_arch *arch, uint64_t pc)
{
	bool is_asked = t->options->extras & OW_EXTRA_SYSCALL;

	w->is_doubtful = ow_waitplace_is_doubtful(arch, pc);
	w->is_in_call = w->line[0] != '-';
	w->entry = (struct ow_callentry){ NULL, false };
	if (!w->is_in_call || !(w->is_doubtful || is_asked))
		return;
	w->entry = ow_callentry_read(t->dir, w->tid);
	if (w->entry.arch == arch && w->entry.is_flat)
		w->is_doubtful = false;
}

/*
 * Take what a waiting thread's line says: it stands still from then on.  What
 * can't be had so may still be had by a stop, but not after the last try.
 */
static bool begin(struct ow_taken *t, struct watch *w, bool last)
{
	struct ow_capture_thread *thread = &t->c->threads[w->i];
	const struct ow_arch *arch = ow_taken_program_arch(t);
	uint64_t sp, pc;

	if (!arch && last)
		ow_fail(&t->threads[w->i].stop.why, OW_CODE_UNSUPPORTED,
			"its registers aren't known, as the program can't be "
			"read");
	if (!arch)
		return false;
	if (!read_turns(w, &w->turns) || read_line(w->syscall, w->line) <= 0) {
		if (last)
			explain(t, w, errno);
		return false;
	}
	if (!parse_line(w->line, &sp, &pc))
		return false;
	if (sp == 0 && pc == 0) {
		ow_fail(&t->threads[w->i].stop.why, OW_CODE_ABSENT,
			"thread has exited (zombie), it has no stack");
		return false;
	}
	memset(&thread->regs, 0, sizeof(thread->regs));
	ow_regs_set(&thread->regs, arch->sp, sp);
	ow_regs_set(&thread->regs, arch->pc, pc);
	ask_for_entry(t, w, arch, pc);
	w->code = -1;
	t->threads[w->i].arch = arch;
	thread->info.captured = true;
	t->threads[w->i].stands = true;
	return true;
}

/*
 * Plan what stacks lead to, for half of a moment at most: each question about what is
 * mapped may wait for others that change that.
 */
static void plan_homes(struct ow_taken *t, const struct watch *list, size_t nr)
{
	uint64_t most = ow_taken_moment_ns(t->options) / 2, begun = ow_now_ns();
	size_t k;

	if (t->searched_ns + most > SEARCHING_NS)
		most = t->searched_ns < SEARCHING_NS ?
			       SEARCHING_NS - t->searched_ns :
			       0;
	t->plan.until_ns = t->maps.until_ns = begun + most;
	for (k = 0; k < nr; k++)
		ow_taken_plan_home(t, list[k].i);
	t->maps.until_ns = 0;
	t->searched_ns += ow_now_ns() - begun;
}

static void copy_stacks(struct ow_taken *t, struct watch *list, size_t nr)
{
	size_t before;

	t->c->stats.bytes_copied += ow_stackcopy_run(&t->copy, &t->mem);
	before = t->copy.nr;
	plan_homes(t, list, nr);
	if (t->copy.nr > before)
		t->c->stats.bytes_copied += ow_stackcopy_run(&t->copy, &t->mem);
}

/* Where a pc may be a false address, what stands there. */
static void copy_code(struct ow_taken *t, struct watch *list, size_t nr)
{
	const struct ow_capture_thread *thread;
	uint64_t start;
	size_t k;

	for (k = 0; k < nr; k++) {
		thread = &t->c->threads[list[k].i];
		if (!thread->info.captured || !list[k].is_doubtful ||
		    !list[k].is_in_call)
			continue;
		start = thread->regs.val[t->threads[list[k].i].arch->pc] -
			OW_WAITPLACE_SIZE;
		list[k].code = ow_stackcopy_add(
			&t->copy, start, start + 2ULL * OW_WAITPLACE_SIZE);
	}
	t->c->stats.bytes_copied += ow_stackcopy_run(&t->copy, &t->mem);
}

/* Return false if it is known that the thread isn't where it seems to be. */
static bool is_there(const struct ow_taken *t, const struct watch *w)
{
	const struct ow_arch *arch = t->threads[w->i].arch;
	const struct ow_region *r;

	if (!w->is_doubtful || !w->is_in_call)
		return true;
	if (w->code < 0 || (w->entry.arch && w->entry.arch != arch))
		return false;
	r = &t->copy.regions[w->code];
	return ow_waitplace_makes_call(arch, r->bytes, r->size);
}

/* It has moved: what it has now may be at the same addresses. */
static void drop_copies(struct ow_taken *t, const struct watch *w)
{
	const struct ow_taken_thread *thread = &t->threads[w->i];
	size_t i;

	for (i = thread->first; i < thread->end; i++)
		t->copy.regions[i].size = 0;
	for (i = thread->first_home; i < thread->end_home; i++)
		t->copy.regions[i].size = 0;
}

/* A look at what stands at pc needs no more. */
static void drop_code(struct ow_taken *t, const struct watch *w)
{
	if (w->code >= 0)
		t->copy.regions[w->code].size = 0;
}

/* Is it where it was all the time? */
static bool has_stayed(const struct watch *w)
{
	unsigned long long turns;
	char line[LINE_SIZE];

	return read_line(w->syscall, line) > 0 && strcmp(line, w->line) == 0 &&
	       read_turns(w, &turns) && turns == w->turns;
}

/*
 * Watch threads from *i_ret on, as many as fit.  A line that a thread gives
 * only while it waits comes from a kernel that has seen it not run (Linux,
 * lib/syscall.c), between the two times that its turns are read.
 */
static size_t watch_some(struct ow_taken *t, size_t *i_ret, struct watch *list,
			 bool last)
{
	size_t nr = 0, i = *i_ret;
	struct watch *w;

	for (; i < t->c->nr_threads && nr < BATCH; i++) {
		if (t->c->threads[i].info.captured ||
		    t->threads[i].stop.why.code)
			continue;
		w = &list[nr];
		w->i = i;
		w->tid = t->c->threads[i].info.tid;
		w->syscall = open_task(t, i, "syscall");
		w->schedstat = open_task(t, i, "schedstat");
		if (begin(t, w, last))
			nr++;
		else
			unwatch(w);
	}
	*i_ret = i;
	return nr;
}

/* Only a stop tells where it is.  After the last try that is why it has no stack. */
static void explain_false_place(struct ow_taken *t, const struct watch *w)
{
	ow_fail(&t->threads[w->i].stop.why, OW_CODE_UNSUPPORTED,
		"no system call is seen in the code where it seems to wait "
		"(32-bit code of a 64-bit process, or of a segment that the "
		"program has made): it has to be stopped");
}

/*
 * A thread has been copied: keep that, if it is known to be its own.  Return false if
 * another try may do better.
 */
static bool keep_or_drop(struct ow_taken *t, const struct watch *w, bool is_own,
			 bool last)
{
	struct ow_thread *info = &t->c->threads[w->i].info;
	bool has_its_stack = is_own && has_stayed(w),
	     was_there = is_there(t, w);

	if (last && info->captured && !was_there)
		explain_false_place(t, w);
	if (has_its_stack)
		ow_callabi_tell(t, w->i, w->line, w->entry.arch);
	info->certain = has_its_stack && !w->is_doubtful;
	info->captured = info->captured && was_there &&
			 (info->certain || (last && is_own));
	drop_code(t, w);
	if (!info->captured)
		drop_copies(t, w);
	return has_its_stack;
}

/* Copy nr threads that wait, which are among [first, end).  Return how many moved. */
static size_t take_some(struct ow_taken *t, struct watch *list, size_t nr,
			size_t first, size_t end, bool last)
{
	size_t k, moved = 0;
	bool is_own;

	if (ow_standing_settle_live(t, first, end)) {
		ow_standing_plan(t, first, end);
		copy_stacks(t, list, nr);
		copy_code(t, list, nr);
		ow_standing_check(t);
	}
	/* Another process may have the number that memory was read by. */
	is_own = ow_tasks_has(t->dir, t->c->live);
	for (k = 0; k < nr; k++) {
		moved += !keep_or_drop(t, &list[k], is_own, last);
		unwatch(&list[k]);
	}
	return moved;
}

/* One try at all threads; true if some moved. */
static bool take_round(struct ow_taken *t, bool last)
{
	struct watch list[BATCH];
	size_t i = 0, first = 0, nr, moved = 0;

	while (first < t->c->nr_threads && t->compared_ns < COMPARING_NS) {
		nr = watch_some(t, &i, list, last);
		if (nr > 0)
			moved += take_some(t, list, nr, first, i, last);
		first = i;
	}
	return moved > 0;
}

void ow_blocked_take(struct ow_taken *t)
{
	int round = 0;

	while (take_round(t, false) && ++round < ROUNDS)
		;
}

static void explain_left(struct ow_taken *t, size_t i)
{
	struct ow_error *why = &t->threads[i].stop.why;

	if (t->compared_ns >= COMPARING_NS)
		ow_fail(why, OW_CODE_TIMEOUT,
			"so much is mapped that it can't be compared in time "
			"for so many threads that aren't stopped");
	else
		ow_fail(why, OW_CODE_UNSUPPORTED,
			"thread is running: its stack can be taken "
			"only while it is stopped");
}

void ow_blocked_take_any(struct ow_taken *t)
{
	size_t i;

	ow_blocked_take(t);
	take_round(t, true);
	for (i = 0; i < t->c->nr_threads; i++)
		if (!t->c->threads[i].info.captured &&
		    t->threads[i].stop.why.code == 0)
			explain_left(t, i);
}
