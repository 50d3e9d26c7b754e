// SPDX-License-Identifier: BSD-2-Clause
/*
 * A live process: everything is read before its threads stop but registers and
 * stacks, and everything is looked at after they run again.
 */
#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "blocked.h"
#include "error.h"
#include "freeze.h"
#include "monotonic.h"
#include "procfs.h"
#include "procobject.h"
#include "remapped.h"
#include "taken.h"

static void take_gently(struct ow_taken *t)
{
	ow_blocked_take(t);
	ow_freeze_all(t);
}

/* By enum ow_stopping. */
static void (*const ways[])(struct ow_taken *t) = {
	[OW_STOPPING_ALL] = ow_freeze_all,
	[OW_STOPPING_EACH] = ow_freeze_each,
	[OW_STOPPING_GENTLE] = take_gently,
	[OW_STOPPING_NEVER] = ow_blocked_take_any,
};

/* What the thread that takes all others is told. */
struct taking {
	struct ow_taken *t;
	cpu_set_t cpus; /* that it may run on, from its start on */
	bool is_pinned; /* to one of them until then */
};

/*
 * Stay where we run.  A thread that is started now starts here, too, where we are
 * about to wait: no CPU has to be woken, and none tells it to move.
 */
static void pin(struct taking *taking)
{
	int cpu = sched_getcpu();
	cpu_set_t here;

	if (cpu < 0 || cpu >= CPU_SETSIZE ||
	    sched_getaffinity(0, sizeof(taking->cpus), &taking->cpus))
		return;
	CPU_ZERO(&here);
	CPU_SET(cpu, &here);
	taking->is_pinned = !sched_setaffinity(0, sizeof(here), &here);
}

/* Where these CPUs have just been taken from us, all that there are may be used. */
static void unpin(struct taking *taking)
{
	cpu_set_t all;

	if (!taking->is_pinned ||
	    !sched_setaffinity(0, sizeof(taking->cpus), &taking->cpus))
		return;
	memset(&all, 0xff, sizeof(all));
	sched_setaffinity(0, sizeof(all), &all);
}

static void *take_threads(void *arg)
{
	struct taking *taking = arg;

	unpin(taking);
	ways[taking->t->options->stopping](taking->t);
	return NULL;
}

static int start(pthread_t *thread, struct taking *taking)
{
	int failed;

	pin(taking);
	failed = pthread_create(thread, NULL, take_threads, taking);
	unpin(taking);
	return failed;
}

/*
 * By a thread of its own: when that ends, the kernel lets go of what could not
 * be released, such as a thread that has still not stopped.  Signals that would
 * end us wait until the target runs again.
 */
static int take_undisturbed(struct ow_taken *t, struct ow_error *err)
{
	struct taking taking = { .t = t };
	pthread_t thread;
	uint64_t began = ow_now_ns();
	sigset_t all, old;
	int failed;

	sigfillset(&all);
	sigdelset(&all, SIGBUS); /* a fault while it is blocked ends us */
	pthread_sigmask(SIG_BLOCK, &all, &old);
	failed = start(&thread, &taking);
	if (!failed)
		pthread_join(thread, NULL);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	t->c->stats.taking_ns = ow_now_ns() - began;
	return failed ? ow_fail(err, OW_CODE_MEMORY, "can't start a thread") :
			0;
}

/*
 * One architecture for the process, the larger if there are two: a thread of a
 * 64-bit process may be running 32-bit code, but not the other way round.  So only
 * where none runs 64-bit code has the program to be asked.
 */
static const struct ow_arch *largest_arch(struct ow_taken *t)
{
	const struct ow_arch *arch, *largest = NULL;
	size_t i;

	for (i = 0; i < t->c->nr_threads; i++) {
		arch = t->threads[i].arch;
		if (arch && (!largest || arch->word > largest->word))
			largest = arch;
	}
	if (largest && largest->word == 8)
		return largest;
	arch = ow_taken_program_arch(t);
	return arch && (!largest || arch->word > largest->word) ? arch :
								  largest;
}

static void settle_arch(struct ow_taken *t)
{
	struct ow_capture *c = t->c;
	const struct ow_arch *arch;
	size_t i;

	c->target.arch = largest_arch(t);
	for (i = 0; i < c->nr_threads; i++) {
		arch = t->threads[i].arch;
		if (!arch || arch == c->target.arch)
			continue;
		c->threads[i].info.captured = false;
		ow_fail(&t->threads[i].stop.why, OW_CODE_UNSUPPORTED,
			"thread runs %s code in a process of %s", arch->name,
			c->target.arch->name);
	}
}

/* The threads' windows, and all regions for reads elsewhere. */
static void hand_over_regions(struct ow_taken *t)
{
	struct ow_capture *c = t->c;
	const struct ow_region *r;
	size_t i;

	for (i = 0; i < c->nr_threads; i++) {
		c->threads[i].info.why = t->threads[i].stop.why;
		if (t->threads[i].region < 0)
			continue;
		r = &t->copy.regions[t->threads[i].region];
		c->threads[i].stack =
			(struct ow_window){ r->start, r->size, r->bytes };
	}
	c->regions = t->copy.regions;
	c->nr_regions = t->copy.nr;
	t->copy.regions = NULL;
}

static int list_modules(struct ow_taken *t, struct ow_error *err)
{
	struct ow_capture *c = t->c;
	const struct ow_mapping *p, *end;
	struct ow_capture_module *m;
	size_t n = 0;

	ow_remapped_settle(&t->maps);
	end = t->maps.list + t->maps.nr;
	for (p = t->maps.list; p < end; p++)
		n += p->executable;
	c->modules = calloc(n + 1, sizeof(*c->modules));
	c->ranges = calloc(n + 1, sizeof(*c->ranges));
	if (!c->modules || !c->ranges)
		return ow_fail(err, OW_CODE_MEMORY, "out of memory");
	for (p = t->maps.list; p < end; p++) {
		if (!p->executable)
			continue;
		c->ranges[c->target.map.nr++] =
			(struct ow_range){ p->start, p->end, NULL };
		if (p->inode == 0 && strcmp(p->path, "[vdso]") != 0)
			continue; /* a JIT's, or [vsyscall] */
		m = &c->modules[c->nr_modules++];
		c->ranges[c->target.map.nr - 1].module = &m->base;
		m->path = strdup(p->path);
		if (!m->path)
			return ow_fail(err, OW_CODE_MEMORY, "out of memory");
		m->start = p->start;
		m->end = p->end;
		m->off = p->off;
		m->dev = p->dev;
		m->inode = p->inode;
		m->deleted = p->deleted;
	}
	return 0;
}

static void name_program(struct ow_capture *c)
{
	char link[32], path[PATH_MAX];
	ssize_t n;

	snprintf(link, sizeof(link), "/proc/%d/exe", c->live);
	n = readlink(link, path, sizeof(path) - 1);
	if (n <= 0)
		return;
	path[n] = '\0';
	c->program = strdup(path);
}

/* What can be told beforehand about a process that has nothing to unwind. */
static int check_process(const struct ow_taken *t, struct ow_error *err)
{
	char name[32], state;
	pid_t pid = t->c->pid;

	if (t->maps.nr > 0)
		return 0;
	if (!ow_task_stat(pid, pid, name, sizeof(name), &state))
		return ow_fail(err, OW_CODE_ABSENT, "no process %d", pid);
	if (state != 'Z' && state != 'X')
		return ow_fail(err, OW_CODE_UNSUPPORTED,
			       "process %d (%s) is a kernel thread, it has no "
			       "user stack",
			       pid, name);
	if (t->c->nr_threads < 2)
		return ow_fail(err, OW_CODE_ABSENT,
			       "process %d (%s) has exited (zombie)", pid,
			       name);
	return 0;
}

static pid_t live_thread(const struct ow_taken *t)
{
	size_t i;

	for (i = 0; i < t->c->nr_threads; i++)
		if (t->c->threads[i].info.state != 'Z')
			return t->c->threads[i].info.tid;
	return t->c->pid;
}

static int prepare(struct ow_taken *t, struct ow_error *err)
{
	size_t nr;
	int failed = ow_taken_list(t, &nr, err);

	if (failed)
		return failed;
	/* None in such a state is an answer, too. */
	if (nr == 0 && !t->options->states)
		return ow_fail(err, OW_CODE_ABSENT,
			       "process %d has none of these threads",
			       t->c->pid);
	failed = ow_taken_list_absent(t, err);
	if (failed)
		return failed;
	/* A leader that has exited has no memory to show; its threads do. */
	t->c->live = live_thread(t);
	name_program(t->c);
	failed = ow_taken_list_mappings(t, err);
	if (!failed)
		failed = check_process(t, err);
	if (failed)
		return failed;
	return ow_taken_reserve(t, err);
}

/* If no thread was captured, the first one's reason is the answer. */
static int check_captured(const struct ow_capture *c, struct ow_error *err)
{
	size_t i;

	if (c->nr_threads == 0)
		return 0;
	for (i = 0; i < c->nr_threads; i++)
		if (c->threads[i].info.captured)
			return 0;
	return ow_fail(err,
		       c->threads[0].info.why.code ?
			       c->threads[0].info.why.code :
			       OW_CODE_ABSENT,
		       "process %d: %s", c->pid, c->threads[0].info.why.msg);
}

/* What a capture keeps of its taking: the chunks that its regions are in. */
static void free_copy(void *copy)
{
	ow_stackcopy_free(copy);
	free(copy);
}

static int keep_copy(struct ow_taken *t, struct ow_error *err)
{
	struct ow_stackcopy *kept = malloc(sizeof(*kept));

	if (!kept)
		return ow_fail(err, OW_CODE_MEMORY, "out of memory");
	*kept = t->copy;
	t->copy = (struct ow_stackcopy){ 0 };
	t->c->priv = kept;
	t->c->priv_free = free_copy;
	return 0;
}

static int take(struct ow_taken *t, struct ow_error *err)
{
	int failed = prepare(t, err);

	if (!failed)
		failed = take_undisturbed(t, err);
	if (failed)
		return failed;
	settle_arch(t);
	hand_over_regions(t);
	failed = check_captured(t->c, err);
	if (!failed)
		failed = list_modules(t, err);
	if (failed)
		return failed;
	ow_capture_sort(t->c);
	return keep_copy(t, err);
}

struct ow_capture *ow_capture_process(pid_t pid,
				      const struct ow_capture_options *options,
				      struct ow_error *err)
{
	static const struct ow_capture_options defaults;
	struct ow_capture *c = ow_capture_create(err);
	struct ow_taken t;
	int failed;

	if (!c)
		return NULL;
	c->pid = pid;
	c->open = ow_procobject_open;
	ow_capture_use_tables(c, options);
	failed = ow_taken_begin(&t, c, options ? options : &defaults, err);
	if (!failed)
		failed = take(&t, err);
	ow_taken_free(&t);
	if (!failed)
		return c;
	ow_capture_destroy(c);
	return NULL;
}
