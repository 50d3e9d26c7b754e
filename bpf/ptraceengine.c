// SPDX-License-Identifier: BSD-2-Clause
/*
 * The engine that stops a process for each sample and copies its stacks: it
 * needs nothing of the kernel but ptrace.  Threads that wait aren't counted, as
 * they use no CPU.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "error.h"
#include "leftout.h"
#include "monotonic.h"
#include "owner.h"
#include "process.h"
#include "procfs.h"
#include "recorder.h"

#define TRIES    10      /* first looks at a process whose threads end */
#define PAUSE_NS 2000000 /* before the second one; more before each later one */

/* Threads that run, as others use no CPU. */
static const struct ow_capture_options running = {
	.use_tables = true,
	.states = "R",
};

struct target {
	pid_t pid;
	int tasks;       /* ow_tasks_open(): it ends with the process */
	uint64_t due_ns; /* CLOCK_MONOTONIC: no look at it before */
	uint64_t passed; /* samples without a look, as it wasn't due */
};

struct engine {
	struct target *targets;
	size_t nr, nr_stopped; /* when they were added */
	struct ow_error why;   /* the first one wasn't */
	struct ow_frame *frames;
	uint64_t *packed;
	bool runs;
};

static uint64_t period_of(const struct ow_recorder *r)
{
	return 1000000000 / r->options.frequency;
}

static int engine_open(struct ow_recorder *r, struct ow_error *err)
{
	struct engine *e;

	if (r->options.everyone)
		return ow_fail(err, OW_CODE_ARGUMENT,
			       "engine ptrace samples processes, not all");
	if (r->options.events != OW_RECORD_CPU)
		return ow_fail(err, OW_CODE_UNSUPPORTED,
			       "engine ptrace samples who runs, and nothing "
			       "else");
	e = r->priv = calloc(1, sizeof(*e));
	if (e) {
		e->frames = calloc(r->options.max_frames, sizeof(*e->frames));
		e->packed = calloc(r->options.max_frames, sizeof(*e->packed));
	}
	if (!e || !e->frames || !e->packed)
		return ow_fail(err, OW_CODE_MEMORY, "out of memory");
	r->stats.clock = "stopping";
	return 0;
}

/*
 * Take a first sample of a process.  When one of its threads executes a file, all that
 * were listed end, and that one may be refused until it has the process's number.
 */
static struct ow_capture *take_first(const struct target *t,
				     struct ow_error *err)
{
	struct timespec pause = { 0, 0 };
	struct ow_capture *c = NULL;
	unsigned int i;

	for (i = 0; !c && i < TRIES; i++) {
		pause.tv_nsec = i * PAUSE_NS;
		clock_nanosleep(CLOCK_MONOTONIC, 0, &pause, NULL);
		c = ow_process_capture(t->pid, t->tasks, &running, err);
		if (!c && ((err->code != OW_CODE_ABSENT &&
			    err->code != OW_CODE_PERMISSION) ||
			   !ow_tasks_has(t->tasks, t->pid)))
			break;
	}
	return c;
}

static int engine_add(struct ow_recorder *r, pid_t pid, struct ow_error *err)
{
	struct engine *e = r->priv;
	struct target *more = realloc(e->targets, (e->nr + 1) * sizeof(*more));
	struct ow_error why = { 0 };
	struct ow_capture *c;
	int tasks;

	if (!more)
		return ow_fail(err, OW_CODE_MEMORY, "out of memory");
	e->targets = more;
	tasks = ow_tasks_open(pid, err);
	if (tasks < 0)
		return tasks;
	if (!ow_images_find(&r->images, pid, err)) {
		close(tasks);
		return -OW_CODE_ABSENT;
	}
	e->targets[e->nr++] = (struct target){ .pid = pid, .tasks = tasks };
	c = take_first(&e->targets[e->nr - 1], &why);
	if (c)
		e->nr_stopped++;
	else if (e->why.code == 0)
		e->why = why;
	ow_capture_destroy(c);
	return 0;
}

/* Where no process could be stopped, no sample can be expected. */
static int engine_start(struct ow_recorder *r, struct ow_error *err)
{
	struct engine *e = r->priv;

	if (e->nr > 0 && e->nr_stopped == 0) {
		*err = e->why;
		return -err->code;
	}
	e->runs = true;
	return 0;
}

/* Return true if it was stopped in code whose stack is not told. */
static bool runs_foreign_code(const struct ow_thread *t)
{
	return t->why.code == OW_CODE_UNSUPPORTED;
}

/* Return true if what the thread runs is known, though it may have no frames. */
static bool is_known(const struct ow_thread *t)
{
	return t->captured || t->why.code == OW_CODE_NO_STACK ||
	       runs_foreign_code(t);
}

/*
 * Tell once of each reason why threads of a process can't be stopped.  That a
 * thread or the process has ended is none.
 */
static void note_unstopped(pid_t pid, const struct ow_error *why)
{
	char process[32], what[64];
	size_t size;

	if (!why->msg[0] || why->code == OW_CODE_ABSENT)
		return;
	snprintf(process, sizeof(process), "process %d: ", (int)pid);
	snprintf(what, sizeof(what), "samples of process %d", (int)pid);
	size = strlen(process);
	if (strncmp(why->msg, process, size))
		size = 0;
	ow_leave_out(what, why->msg + size);
}

static void count_thread(struct ow_recorder *r, struct ow_capture *c, size_t i,
			 uint32_t image)
{
	struct engine *e = r->priv;
	const struct ow_thread *t = ow_capture_thread(c, i);
	struct ow_bpf_stack head = { .tid = (uint32_t)t->tid };
	enum ow_end end = OW_END_UNSUPPORTED;
	size_t n;

	if (!is_known(t))
		note_unstopped(ow_capture_pid(c), &t->why);
	if (t->state != 'R' || !is_known(t))
		return;
	if (t->why.code == OW_CODE_NO_STACK)
		end = OW_END_OUTERMOST;
	if (t->captured)
		head.nr = (uint16_t)ow_capture_walk(
			c, i, e->frames, r->options.max_frames, &end, NULL);
	head.key.image = image;
	head.key.pid = (uint32_t)ow_capture_pid(c);
	head.key.tid = r->options.by_thread ? (uint32_t)t->tid : 0;
	head.key.kind = OW_SAMPLE_CPU;
	head.key.end = (uint8_t)end;
	snprintf(head.comm, sizeof(head.comm), "%.15s", t->name);
	for (n = 0; n < head.nr; n++)
		e->packed[n] = OW_SAMPLE_FRAME(
			e->frames[n].pc, e->frames[n].how, e->frames[n].flags);
	if (ow_recorder_count(r, &head, e->packed, 1))
		r->stats.lost++;
}

static struct ow_mapping mapping_of(const struct ow_range *range)
{
	const struct ow_capture_module *m =
		(const struct ow_capture_module *)range->module;
	struct ow_mapping ret = {
		.start = range->start,
		.end = range->end,
		.executable = true,
		.path = "",
	};

	if (m) {
		ret.off = m->off;
		ret.dev = m->dev;
		ret.inode = m->inode;
		ret.deleted = m->deleted;
		ret.path = m->path;
	}
	return ret;
}

/*
 * What the process had mapped while it was stopped: it may have more by now, or
 * less.
 */
static struct ow_image *show_image(struct ow_recorder *r,
				   const struct ow_capture *c)
{
	size_t nr = c->target.map.nr, i;
	struct ow_mapping *list = calloc(nr + 1, sizeof(*list));
	struct ow_image *image;

	if (!list)
		return NULL;
	for (i = 0; i < nr; i++)
		list[i] = mapping_of(&c->ranges[i]);
	image = ow_images_show(&r->images, c->pid, list, nr);
	free(list);
	return image;
}

static void sample(struct ow_recorder *r, const struct target *t)
{
	struct ow_image *image;
	struct ow_error err = { 0 };
	struct ow_capture *c;
	size_t i;

	c = ow_process_capture(t->pid, t->tasks, &running, &err);
	if (!c) {
		note_unstopped(t->pid, &err);
		return;
	}
	if (ow_capture_nr_threads(c)) {
		image = show_image(r, c);
		c->walk_time.share =
			ow_owner_of(ow_images_uid(&r->images, c->pid)).share;
		for (i = 0; image && i < ow_capture_nr_threads(c); i++)
			count_thread(r, c, i, image->id);
	}
	ow_capture_destroy(c);
}

/*
 * Sample a process.  Where a look takes most of a period, the next one comes when the
 * others have had as much time each: else one process could take the samples of all.
 */
static void sample_if_due(struct ow_recorder *r, struct target *t)
{
	const struct engine *e = r->priv;
	uint64_t begun = ow_now_ns(), took;

	if (begun < t->due_ns) {
		t->passed++;
		return;
	}
	sample(r, t);
	took = ow_now_ns() - begun;
	if (2 * took > period_of(r))
		t->due_ns = begun + e->nr * took;
}

static void note_passed(const struct target *t)
{
	char process[64], what[64];

	if (t->passed == 0)
		return;
	snprintf(process, sizeof(process), "process %d", (int)t->pid);
	snprintf(what, sizeof(what), "%llu samples, as a look takes too long",
		 (unsigned long long)t->passed);
	ow_leave_out(process, what);
}

static int engine_wait(struct ow_recorder *r, unsigned int ms,
		       struct ow_error *err)
{
	struct engine *e = r->priv;
	uint64_t period = period_of(r);
	uint64_t end = ow_now_ns() + ms * 1000000ULL, next, now;
	struct timespec t;
	size_t i;

	(void)err;
	for (next = ow_now_ns(); next < end && e->runs; next += period) {
		t = (struct timespec){ (time_t)(next / 1000000000),
				       (long)(next % 1000000000) };
		if (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL) ==
		    EINTR)
			return 0;
		for (i = 0; i < e->nr; i++)
			sample_if_due(r, &e->targets[i]);
		now = ow_now_ns();
		/* Too late for some: those are missed. */
		while (now > next + period) {
			next += period;
			r->stats.missed++;
		}
	}
	return 0;
}

static void engine_stop(struct ow_recorder *r)
{
	struct engine *e = r->priv;
	size_t i;

	for (i = 0; e->runs && i < e->nr; i++)
		note_passed(&e->targets[i]);
	e->runs = false;
}

static int collect(struct ow_recorder *r, struct ow_error *err)
{
	(void)r;
	(void)err;
	return 0;
}

static void engine_count(struct ow_recorder *r, struct ow_recorder_stats *s)
{
	(void)r;
	(void)s;
}

static void engine_close(struct ow_recorder *r)
{
	struct engine *e = r->priv;
	size_t i;

	for (i = 0; i < e->nr; i++)
		close(e->targets[i].tasks);
	free(e->targets);
	free(e->frames);
	free(e->packed);
	free(e);
}

const struct ow_engine_ops ow_ptrace_engine = {
	.open = engine_open,
	.add = engine_add,
	.start = engine_start,
	.wait = engine_wait,
	.stop = engine_stop,
	.collect = collect,
	.count = engine_count,
	.close = engine_close,
};
