// SPDX-License-Identifier: BSD-2-Clause
/*
 * A live process: everything is read before its threads stop but registers and
 * stacks, and everything is looked at after they run again.
 */
#include <errno.h>
#include <limits.h>
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
#include "stopper.h"

#define RED_ZONE          128 /* x86-64 psABI 3.2.2 */
#define STOP_TIMEOUT_NS   1000000000ULL
#define UNKNOWN_BASE_SIZE (1 << 20) /* copied where no base is known */
#define LISTING_ROUNDS    16
#define OVERFLOW_SIZE     (64 << 10) /* how far below a stack sp may have gone */

/* A capture under construction. */
struct taking {
	struct ow_capture *c;
	const struct ow_capture_options *options;
	struct ow_mappings maps;
	struct ow_stop *stops; /* beside c->threads */
	size_t room;           /* of both */
	uint64_t *tps;         /* thread pointers, beside them too */
	ssize_t *regions;      /* each thread's first region, or -1 */
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

static void stop_from(struct taking *t, size_t first)
{
	uint64_t deadline = ow_now_ns() + STOP_TIMEOUT_NS;
	struct ow_capture *c = t->c;
	size_t i;

	for (i = first; i < c->nr_threads; i++)
		ow_stop_seize(&t->stops[i], c->pid, c->threads[i].info.tid);
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
	uint8_t buf[512];
	size_t size = ow_stop_regs(&t->stops[i], buf, sizeof(buf));
	const struct ow_arch *arch = ow_prstatus_arch(size);

	if (size == 0)
		return;
	if (!arch) {
		ow_fail(&t->stops[i].why, OW_CODE_UNSUPPORTED,
			"thread runs code of an architecture that outwind "
			"doesn't know");
		return;
	}
	t->c->target.arch = arch;
	thread->info.captured =
		ow_prstatus_regs(arch, buf, size, &thread->regs);
	t->tps[i] = ow_prstatus_tp(arch, buf, size);
}

/* The end of what is worth copying of the stack in mapping m from sp up. */
static uint64_t copy_end(const struct taking *t, const struct ow_mapping *m,
			 uint64_t sp, uint64_t tp)
{
	uint64_t end = m->end;
	size_t limit = t->options ? t->options->stack_size : 0;

	/* glibc and musl put a thread's descriptor at its stack's base. */
	if (tp > sp && tp < m->end)
		end = tp;
	else if (strcmp(m->path, "[stack]") != 0 &&
		 end - sp > UNKNOWN_BASE_SIZE)
		end = sp + UNKNOWN_BASE_SIZE;
	if (limit && end - sp > limit)
		end = sp + limit;
	return end;
}

/* The mapping whose upper part is the stack at sp, or NULL. */
static const struct ow_mapping *stack_of(const struct ow_mappings *maps,
					 uint64_t sp)
{
	const struct ow_mapping *m = ow_mappings_from(maps, sp);
	const struct ow_mapping *end = maps->list + maps->nr;

	/* After an overflow sp is in the guard below the stack. */
	if (m && !m->readable && m + 1 < end && m[1].start == m->end)
		m++;
	return m && m->readable ? m : NULL;
}

static void plan_stack(struct taking *t, size_t i)
{
	const struct ow_capture_thread *thread = &t->c->threads[i];
	uint64_t sp = thread->regs.val[t->c->target.arch->sp];
	const struct ow_mapping *m = stack_of(&t->maps, sp);
	uint64_t start;

	t->regions[i] = -1;
	if (!thread->info.captured || !m)
		return;
	start = sp < RED_ZONE ? 0 : sp - RED_ZONE;
	/* [stack] may have grown since the maps were read. */
	if (start < m->start &&
	    (sp >= m->start || !m->writable || strcmp(m->path, "[stack]") != 0))
		start = m->start;
	t->regions[i] = ow_stackcopy_add(&t->copy, start,
					 copy_end(t, m, sp > start ? sp : start,
						  t->tps[i]));
}

/* Where a thread runs when it isn't on a stack of its own making, or NULL. */
static const struct ow_mapping *home_of(const struct taking *t, size_t i)
{
	const struct ow_mapping *m;
	size_t k;

	if (t->c->threads[i].info.tid == t->c->pid) {
		for (k = t->maps.nr; k-- > 0;)
			if (strcmp(t->maps.list[k].path, "[stack]") == 0)
				return &t->maps.list[k];
		return NULL;
	}
	m = ow_mappings_from(&t->maps, t->tps[i]);
	return t->tps[i] && m && t->tps[i] >= m->start && m->writable ? m :
									NULL;
}

/*
 * A thread on an alternate stack, in a signal handler as a rule, goes on with
 * its own: copy that from the lowest place that the first one points to.
 */
static void plan_home(struct taking *t, size_t i)
{
	const struct ow_mapping *home = home_of(t, i);
	const struct ow_region *r;
	uint64_t lowest = UINT64_MAX, addr;
	size_t off, word = t->c->target.arch->word;

	if (t->regions[i] < 0 || !home)
		return;
	r = &t->copy.regions[t->regions[i]];
	if (r->start + RED_ZONE >= home->start && r->start < home->end)
		return;
	for (off = 0; off + word <= r->size; off += word) {
		addr = 0;
		memcpy(&addr, r->bytes + off, word);
		/* sp may be below, if the stack has overflowed. */
		if (addr >= home->start - OVERFLOW_SIZE && addr < home->end &&
		    addr < lowest)
			lowest = addr;
	}
	if (lowest == UINT64_MAX)
		return;
	addr = lowest > home->start + RED_ZONE ? lowest - RED_ZONE :
						 home->start;
	ow_stackcopy_add(&t->copy, addr, copy_end(t, home, addr, t->tps[i]));
}

static void copy_stacks(struct taking *t)
{
	struct ow_capture *c = t->c;
	size_t i, nr;

	for (i = 0; i < c->nr_threads; i++)
		plan_stack(t, i);
	c->stats.bytes_copied = ow_stackcopy_run(&t->copy, c->live);
	nr = t->copy.nr;
	for (i = 0; i < c->nr_threads; i++)
		plan_home(t, i);
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
	if (t->tps && t->regions) {
		for (i = 0; i < c->nr_threads; i++)
			take_regs(t, i);
		if (c->target.arch)
			copy_stacks(t);
	}
	release_all(t);
	return t->tps && t->regions ?
		       0 :
		       ow_fail(err, OW_CODE_MEMORY, "out of memory");
}

/* Signals that would end us wait until the target runs again. */
static int freeze_undisturbed(struct taking *t, struct ow_error *err)
{
	sigset_t all, old;
	int failed;

	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, &old);
	failed = freeze(t, err);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	return failed;
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
	return ow_fail(err, c->threads[0].info.why.code, "process %d: %s",
		       c->pid, c->threads[0].info.why.msg);
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
	if (!failed)
		return t.c;
	ow_capture_destroy(t.c);
	return NULL;
}
