// SPDX-License-Identifier: BSD-2-Clause
/*
 * A live process: everything is read before its threads stop but registers and
 * stacks, and everything is looked at after they run again.
 */
#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "capture.h"
#include "error.h"
#include "procfs.h"
#include "procobject.h"
#include "prstatus.h"
#include "stackcopy.h"
#include "stackplan.h"
#include "stopper.h"

#define RED_ZONE        128 /* x86-64 psABI 3.2.2 */
#define STOP_TIMEOUT_NS 1000000000ULL
#define LISTING_ROUNDS  16
#define OVERFLOW_SIZE   (64 << 10) /* how far below a stack sp may have gone */

/* A capture under construction. */
struct taking {
	struct ow_capture *c;
	const struct ow_capture_options *options;
	struct ow_mappings maps;
	struct ow_stop *stops;         /* beside c->threads */
	size_t room;                   /* of both */
	uint64_t *tps;                 /* thread pointers, beside them too */
	ssize_t *regions;              /* each thread's first region, or -1 */
	const struct ow_arch **arches; /* what each thread runs, or NULL */
	struct ow_stackcopy copy;
};

static bool wanted(const struct ow_capture_options *o, pid_t tid)
{
	size_t i;

	if (!o || !o->tids)
		return true;
	for (i = 0; i < o->nr_tids; i++)
		if (o->tids[i] == tid)
			return true;
	return false;
}

static bool listed(const struct taking *t, pid_t tid, size_t *hint)
{
	size_t i, n = t->c->nr_threads;

	/* The kernel lists in order of birth, as we do. */
	for (i = 0; i < n; i++, *hint = (*hint + 1) % n)
		if (t->c->threads[*hint].info.tid == tid)
			return true;
	return false;
}

static int add_thread(struct taking *t, pid_t tid, struct ow_error *err)
{
	struct ow_capture *c = t->c;
	size_t room = t->room ? 2 * t->room : 16;
	struct ow_thread *info;

	if (c->nr_threads == t->room) {
		void *threads = realloc(c->threads, room * sizeof(*c->threads));
		void *stops = realloc(t->stops, room * sizeof(*t->stops));

		if (threads)
			c->threads = threads;
		if (stops)
			t->stops = stops;
		if (!threads || !stops)
			return ow_fail(err, OW_CODE_MEMORY, "out of memory");
		t->room = room;
	}
	memset(&c->threads[c->nr_threads], 0, sizeof(*c->threads));
	memset(&t->stops[c->nr_threads], 0, sizeof(*t->stops));
	info = &c->threads[c->nr_threads++].info;
	info->tid = tid;
	info->state = '?';
	ow_task_stat(c->pid, tid, info->name, sizeof(info->name), &info->state);
	return 0;
}

/* Add threads that are new since the last time; *nr_ret says how many. */
static int list_threads(struct taking *t, size_t *nr_ret, struct ow_error *err)
{
	_cleanup_(ow_freep) pid_t *tids = NULL;
	size_t nr, i, hint = 0, before = t->c->nr_threads;
	int failed = ow_tasks_list(t->c->pid, &tids, &nr, err);

	if (failed)
		return failed;
	for (i = 0; i < nr; i++) {
		if (!wanted(t->options, tids[i]) || listed(t, tids[i], &hint))
			continue;
		failed = add_thread(t, tids[i], err);
		if (failed)
			return failed;
	}
	*nr_ret = t->c->nr_threads - before;
	return 0;
}

/*
 * Threads that were asked for by name and aren't there have an entry too, with
 * the reason.  Such an id may be another process's, which must not be touched.
 */
static int list_absent(struct taking *t, struct ow_error *err)
{
	const struct ow_capture_options *o = t->options;
	size_t i, hint = 0;
	int failed = 0;

	for (i = 0; o && o->tids && i < o->nr_tids && !failed; i++) {
		if (listed(t, o->tids[i], &hint))
			continue;
		failed = add_thread(t, o->tids[i], err);
		if (!failed)
			ow_fail(&t->stops[t->c->nr_threads - 1].why,
				OW_CODE_ABSENT,
				"process %d has no such thread, or it has "
				"exited",
				t->c->pid);
	}
	return failed;
}

static void stop_from(struct taking *t, size_t first)
{
	uint64_t deadline = ow_now_ns() + STOP_TIMEOUT_NS;
	struct ow_capture *c = t->c;
	size_t i;

	for (i = first; i < c->nr_threads; i++)
		if (t->stops[i].why.code == 0)
			ow_stop_seize(&t->stops[i], c->pid,
				      c->threads[i].info.tid);
	if (first == 0)
		c->stats.freeze_ns = ow_now_ns();
	for (i = first; i < c->nr_threads; i++)
		ow_stop_interrupt(&t->stops[i]);
	for (i = first; i < c->nr_threads; i++)
		ow_stop_wait(&t->stops[i], deadline);
}

/* Stop all threads, also those that are born while we do. */
static void stop_all(struct taking *t)
{
	size_t first = 0, nr = t->c->nr_threads;
	int round;

	for (round = 0; nr > 0 && round < LISTING_ROUNDS; round++) {
		stop_from(t, first);
		first = t->c->nr_threads;
		if (list_threads(t, &nr, NULL))
			break;
	}
}

static void release_all(struct taking *t)
{
	struct ow_capture *c = t->c;
	size_t i;

	for (i = 0; i < c->nr_threads; i++) {
		c->stats.stopped += t->stops[i].state == OW_STOP_STOPPED;
		c->threads[i].info.why = t->stops[i].why;
		ow_stop_release(&t->stops[i]);
	}
	if (c->stats.freeze_ns)
		c->stats.freeze_ns = ow_now_ns() - c->stats.freeze_ns;
}

static void take_regs(struct taking *t, size_t i)
{
	struct ow_capture_thread *thread = &t->c->threads[i];
	struct ow_error *why = &t->stops[i].why;
	uint8_t buf[512];
	size_t size = ow_stop_regs(&t->stops[i], buf, sizeof(buf));
	const struct ow_arch *arch = ow_prstatus_arch(size);

	if (size == 0 && why->code == 0)
		ow_fail(why, OW_CODE_ABSENT, "thread exited while stopped");
	else if (size && !arch)
		ow_fail(why, OW_CODE_UNSUPPORTED,
			"thread runs code of an architecture that outwind "
			"doesn't know");
	if (!arch)
		return;
	t->arches[i] = arch;
	thread->info.captured =
		ow_prstatus_regs(arch, buf, size, &thread->regs);
	t->tps[i] = ow_prstatus_tp(arch, buf, size);
}

/*
 * One architecture for the process, the larger if there are two: a thread of a
 * 64-bit process may be running 32-bit code, but not the other way round.
 */
static void settle_arch(struct taking *t)
{
	struct ow_capture *c = t->c;
	size_t i;

	for (i = 0; i < c->nr_threads; i++)
		if (t->arches[i] && (!c->target.arch ||
				     t->arches[i]->word > c->target.arch->word))
			c->target.arch = t->arches[i];
	for (i = 0; i < c->nr_threads; i++) {
		if (!t->arches[i] || t->arches[i] == c->target.arch)
			continue;
		c->threads[i].info.captured = false;
		ow_fail(&t->stops[i].why, OW_CODE_UNSUPPORTED,
			"thread runs %s code in a process of %s",
			t->arches[i]->name, c->target.arch->name);
	}
}

static void copy_stacks(struct taking *t)
{
	struct ow_capture *c = t->c;
	struct ow_stackplan plan = {
		.maps = &t->maps,
		.copy = &t->copy,
		.word = c->target.arch->word,
		.limit = t->options ? t->options->stack_size : 0,
	};
	const struct ow_capture_thread *thread;
	size_t i, nr;

	for (i = 0; i < c->nr_threads; i++) {
		thread = &c->threads[i];
		t->regions[i] = -1;
		if (thread->info.captured)
			t->regions[i] = ow_stackplan_add(
				&plan, thread->regs.val[c->target.arch->sp],
				t->tps[i]);
	}
	c->stats.bytes_copied = ow_stackcopy_run(&t->copy, c->live);
	nr = t->copy.nr;
	for (i = 0; i < c->nr_threads; i++)
		if (t->regions[i] >= 0)
			ow_stackplan_add_home(&plan, t->regions[i],
					      c->threads[i].info.tid == c->pid,
					      t->tps[i]);
	if (t->copy.nr > nr)
		c->stats.bytes_copied += ow_stackcopy_run(&t->copy, c->live);
}

/* All that happens while the target is stopped. */
static int freeze(struct taking *t, struct ow_error *err)
{
	struct ow_capture *c = t->c;
	size_t i;

	stop_all(t);
	t->tps = calloc(c->nr_threads, sizeof(*t->tps));
	t->regions = calloc(c->nr_threads, sizeof(*t->regions));
	t->arches = calloc(c->nr_threads, sizeof(*t->arches));
	if (!t->tps || !t->regions || !t->arches) {
		release_all(t);
		return ow_fail(err, OW_CODE_MEMORY, "out of memory");
	}
	for (i = 0; i < c->nr_threads; i++) {
		t->regions[i] = -1;
		take_regs(t, i);
	}
	settle_arch(t);
	if (c->target.arch)
		copy_stacks(t);
	release_all(t);
	return 0;
}

/* What the tracing thread is to do, and how it went. */
struct tracing {
	struct taking *t;
	struct ow_error *err;
	int failed;
};

static void *trace(void *arg)
{
	struct tracing *tracing = arg;

	tracing->failed = freeze(tracing->t, tracing->err);
	return NULL;
}

/*
 * By a thread of its own: when that ends, the kernel lets go of what could not
 * be released, such as a thread that has still not stopped.  Signals that would
 * end us wait until the target runs again.
 */
static int freeze_undisturbed(struct taking *t, struct ow_error *err)
{
	struct tracing tracing = { t, err, 0 };
	pthread_t thread;
	sigset_t all, old;
	int failed;

	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, &old);
	failed = pthread_create(&thread, NULL, trace, &tracing);
	if (!failed)
		pthread_join(thread, NULL);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	if (failed)
		return ow_fail(err, OW_CODE_MEMORY, "can't start a thread");
	return tracing.failed;
}

/* The threads' windows, and all regions for reads elsewhere. */
static void hand_over_regions(struct taking *t)
{
	struct ow_capture *c = t->c;
	const struct ow_region *r;
	size_t i;

	for (i = 0; i < c->nr_threads; i++) {
		if (t->regions[i] < 0)
			continue;
		r = &t->copy.regions[t->regions[i]];
		c->threads[i].stack =
			(struct ow_window){ r->start, r->size, r->bytes };
	}
	c->regions = t->copy.regions;
	c->nr_regions = t->copy.nr;
	t->copy.regions = NULL;
}

static int list_modules(struct taking *t, struct ow_error *err)
{
	struct ow_capture *c = t->c;
	const struct ow_mapping *p, *end = t->maps.list + t->maps.nr;
	struct ow_capture_module *m;
	size_t n = 0;

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
static int check_process(const struct taking *t, struct ow_error *err)
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

static pid_t live_thread(const struct taking *t)
{
	size_t i;

	for (i = 0; i < t->c->nr_threads; i++)
		if (t->c->threads[i].info.state != 'Z')
			return t->c->threads[i].info.tid;
	return t->c->pid;
}

static int prepare(struct taking *t, struct ow_error *err)
{
	size_t nr;
	int failed = list_threads(t, &nr, err);

	if (failed)
		return failed;
	if (nr == 0)
		return ow_fail(err, OW_CODE_ABSENT,
			       "process %d has none of these threads",
			       t->c->pid);
	failed = list_absent(t, err);
	if (failed)
		return failed;
	/* A leader that has exited has no memory to show; its threads do. */
	t->c->live = live_thread(t);
	name_program(t->c);
	failed = ow_mappings_read(t->c->live, &t->maps, err);
	if (failed)
		return failed;
	failed = check_process(t, err);
	return failed ? failed : list_modules(t, err);
}

/* If no thread was captured, the first one's reason is the answer. */
static int check_captured(const struct ow_capture *c, struct ow_error *err)
{
	size_t i;

	for (i = 0; i < c->nr_threads; i++)
		if (c->threads[i].info.captured)
			return 0;
	return ow_fail(err,
		       c->threads[0].info.why.code ?
			       c->threads[0].info.why.code :
			       OW_CODE_ABSENT,
		       "process %d: %s", c->pid, c->threads[0].info.why.msg);
}

static void free_copy(void *copy)
{
	ow_stackcopy_free(copy);
	free(copy);
}

/* Keep the buffers as long as the capture. */
static int keep_copy(struct taking *t, struct ow_error *err)
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

static int take(struct taking *t, struct ow_error *err)
{
	int failed = prepare(t, err);

	if (!failed)
		failed = freeze_undisturbed(t, err);
	if (!failed)
		failed = check_captured(t->c, err);
	if (failed)
		return failed;
	hand_over_regions(t);
	ow_capture_sort(t->c);
	return keep_copy(t, err);
}

struct ow_capture *ow_capture_process(pid_t pid,
				      const struct ow_capture_options *options,
				      struct ow_error *err)
{
	struct taking t = { .options = options };
	int failed;

	t.c = ow_capture_create(err);
	if (!t.c)
		return NULL;
	t.c->pid = pid;
	t.c->open = ow_procobject_open;
	t.c->use_tables = options && options->use_tables;
	failed = take(&t, err);
	ow_mappings_free(&t.maps);
	ow_stackcopy_free(&t.copy);
	free(t.copy.regions);
	free(t.stops);
	free(t.tps);
	free(t.regions);
	free(t.arches);
	if (!failed)
		return t.c;
	ow_capture_destroy(t.c);
	return NULL;
}
