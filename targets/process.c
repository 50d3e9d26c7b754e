// SPDX-License-Identifier: BSD-2-Clause
/*
 * A live process: everything is read before its threads stop but registers and
 * stacks, and everything is looked at after they run again.  While they are stopped,
 * what was read before is only compared with what is so by then.
 */
#include "process.h"

#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "blocked.h"
#include "callabi.h"
#include "delegate.h"
#include "deletednames.h"
#include "error.h"
#include "freeze.h"
#include "monotonic.h"
#include "ownproc.h"
#include "procfs.h"
#include "procobject.h"
#include "taken.h"
#include "threadstart.h"

#define CALLS_IN_LIMIT 4 /* as long as all reads together may take */
#define TRIES          3

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

/* Threads that did not stop in time: one tells for all, as they share a cgroup. */
static void explain_late(struct ow_taken *t)
{
	bool is_asked = false;
	size_t i;

	for (i = 0; i < t->c->nr_threads; i++) {
		if (!t->threads[i].stop.is_late)
			continue;
		if (!is_asked &&
		    !ow_task_is_frozen(t->c->pid, t->c->threads[i].info.tid))
			return;
		is_asked = true;
		ow_fail(&t->threads[i].stop.why, OW_CODE_TIMEOUT,
			"thread did not stop in time, its cgroup is frozen");
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
		if (!ow_mapping_is_object(p))
			continue; /* a JIT's, or [vsyscall] */
		m = &c->modules[c->nr_modules++];
		c->ranges[c->target.map.nr - 1].module = &m->base;
		m->path = (char *)p->path;
		m->is_path_lent = true;
		m->start = p->start;
		m->end = p->end;
		m->off = p->off;
		m->dev = p->dev;
		m->inode = p->inode;
		m->deleted = p->deleted;
	}
	/* Thousands of mappings may share one path. */
	c->paths = t->maps.names;
	t->maps.names = (struct ow_intern){ 0 };
	return 0;
}

/* What can be told beforehand about a process that has nothing to unwind. */
static int check_process(const struct ow_taken *t, struct ow_error *err)
{
	struct ow_task task;
	pid_t pid = t->c->pid;

	/* Others may have the memory of a first thread that has exited. */
	if (t->maps.nr > 0 ||
	    (t->c->nr_threads > 1 && ow_task_read(pid, pid, &task) &&
	     (task.state == 'Z' || task.state == 'X')))
		return 0;
	return ow_task_fail_no_memory(pid, err);
}

/* A thread that has not exited, maybe one that isn't asked for; else the leader. */
static pid_t live_thread(const struct ow_taken *t)
{
	pid_t pid = t->c->pid, other;
	struct ow_task leader;
	size_t i;

	for (i = 0; i < t->c->nr_threads; i++)
		if (t->c->threads[i].info.state != 'Z' &&
		    t->threads[i].stop.why.code == 0)
			return t->c->threads[i].info.tid;
	if (!ow_task_read(pid, pid, &leader) || leader.state != 'Z')
		return pid;
	other = ow_tasks_other(pid);
	return other ? other : pid;
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
	ow_taken_name_program(t);
	failed = ow_taken_list_mappings(t, err);
	if (!failed)
		failed = check_process(t, err);
	if (failed)
		return failed;
	return ow_taken_reserve(t, err);
}

/* What the delegate or the thread is told that takes all others. */
struct taking {
	struct ow_taken t;
	struct ow_capture *c;
	int tasks; /* its folder of threads, or -1: by its number */
	const struct ow_capture_options *options;
	struct ow_error *err;
	bool is_careful; /* let a delegate read */
	bool is_prepared;
	int failed;
	uint64_t prepare_ns;
};

static void take_threads(void *arg)
{
	struct taking *taking = arg;
	struct ow_taken *t = &taking->t;
	uint64_t began = ow_now_ns();

	taking->failed = ow_taken_begin(t, taking->c, taking->tasks,
					taking->options, taking->err);
	t->copy.is_careful = t->copy.has_hung = taking->is_careful;
	if (!taking->failed)
		taking->failed = prepare(t, taking->err);
	taking->prepare_ns = ow_now_ns() - began;
	taking->is_prepared = !taking->failed;
	if (taking->is_prepared) {
		ways[taking->options->stopping](t);
		/* What began while all stood still is not of their moment. */
		if (t->c->stats.moments != 1)
			ow_taken_count(t, false);
		ow_taken_cut_replaced(t);
		settle_arch(t);
		ow_callabi_settle(t);
		ow_deletednames_settle(&t->maps, t->c->live);
	}
	ow_taken_end(t);
}

/* As if nothing had been taken. */
static void start_over(struct taking *taking)
{
	struct ow_capture *c = taking->c;

	ow_taken_free(&taking->t);
	ow_taken_init(&taking->t);
	ow_capture_drop_threads(c);
	free(c->program);
	c->program = NULL;
	c->stats = (struct ow_capture_stats){ 0 };
}

/* Why a process can't be taken whose delegate was given up on. */
static int explain_given_up(const struct taking *taking,
			    const struct ow_delegate_limits *limits,
			    enum ow_delegation how, pid_t delegate)
{
	struct ow_error *err = taking->err;
	pid_t pid = taking->c->pid;

	if (how == OW_DELEGATION_NONE)
		return ow_delegate_fail(err);
	if (how == OW_DELEGATION_LOST && taking->is_prepared)
		return ow_fail(
			err, OW_CODE_TIMEOUT,
			"process %d: process %d, which reads its memory, "
			"can't be ended: end process %d, or the server "
			"of its files",
			pid, delegate, pid);
	return ow_fail(err, OW_CODE_TIMEOUT,
		       "process %d can't be looked at: the kernel did not "
		       "answer within %llu ms, as a program that is being "
		       "executed, or the server of a file, keeps it waiting",
		       pid, (unsigned long long)limits->call_ns / 1000000);
}

/*
 * What holds threads is a process of its own: when that ends, the kernel lets go of
 * what could not be released, such as a thread that has still not stopped.  If it
 * has to be given up on in a read, they are taken again with care: then it does not
 * read itself.
 */
static int take_by_delegate(struct taking *taking)
{
	struct ow_delegate_limits limits = {
		.until_ns = UINT64_MAX,
		.kept = taking->tasks > 0 ? taking->tasks : 0,
	};
	enum ow_delegation how;
	pid_t delegate;
	int tries;

	limits.call_ns = ow_taken_read_limit(taking->options) / CALLS_IN_LIMIT;
	for (tries = 0; tries < TRIES; tries++) {
		how = ow_delegate_run(take_threads, taking, &limits, &delegate);
		if (how == OW_DELEGATION_DONE)
			return taking->failed;
		ow_taken_forget_files(&taking->t);
		taking->t.copy.is_lost |= how == OW_DELEGATION_LOST;
		if (how != OW_DELEGATION_GIVEN_UP || !taking->is_prepared ||
		    ow_delegate_must_end())
			break;
		start_over(taking);
		taking->is_careful = true;
	}
	return explain_given_up(taking, &limits, how, delegate);
}

static void *take_in_thread(void *taking)
{
	take_threads(taking);
	return NULL;
}

/*
 * Where Yama lets a process trace those that it has started only (Linux, Yama.rst), a
 * delegate of that process may not.  Reads may wait without end here, but the
 * target is one of our own.
 */
static int take_by_thread(struct taking *taking)
{
	pthread_t thread;
	sigset_t all, old;
	int failed;

	sigfillset(&all);
	sigdelset(&all, SIGBUS); /* a fault while it is blocked ends us */
	pthread_sigmask(SIG_BLOCK, &all, &old);
	failed = ow_thread_start(&thread, take_in_thread, taking);
	if (!failed)
		pthread_join(thread, NULL);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	errno = failed;
	if (failed)
		return ow_fail(taking->err, OW_CODE_SYSTEM,
			       "can't start a thread");
	return taking->failed;
}

/*
 * The first thread whose reason is another one than that it has exited, or else the
 * first one: what is told of a process of which no thread could be taken.
 */
static size_t telling_thread(const struct ow_taken *t)
{
	size_t i;
	int code;

	for (i = 0; i < t->c->nr_threads; i++) {
		code = t->threads[i].stop.why.code;
		if (code && code != OW_CODE_ABSENT && code != OW_CODE_NO_STACK)
			return i;
	}
	return 0;
}

/* Return true if no thread could be taken as we may not stop them. */
static bool is_forbidden(const struct taking *taking)
{
	const struct ow_capture *c = taking->c;
	const struct ow_taken *t = &taking->t;
	size_t i;

	if (geteuid() == 0 || c->nr_threads == 0 ||
	    t->threads[telling_thread(t)].stop.why.code != OW_CODE_PERMISSION)
		return false;
	for (i = 0; i < c->nr_threads; i++)
		if (c->threads[i].info.captured)
			return false;
	return true;
}

static int take_undisturbed(struct taking *taking)
{
	uint64_t began = ow_now_ns();
	int failed = take_by_delegate(taking);

	if (!failed && is_forbidden(taking)) {
		start_over(taking);
		failed = take_by_thread(taking);
	}
	taking->c->stats.taking_ns = ow_now_ns() - began - taking->prepare_ns;
	return failed;
}

/* Return true if the thread has something to be told about it. */
static bool is_answer(const struct ow_thread *thread, bool by_state)
{
	return thread->captured || thread->why.code == OW_CODE_NO_STACK ||
	       (by_state && thread->why.code == OW_CODE_UNSUPPORTED);
}

/* Why none of a process's threads was taken; of another one than the first with its id. */
static int explain_none(const struct ow_taken *t, struct ow_error *err)
{
	static const char subject[] = "thread ";
	const struct ow_capture *c = t->c;
	const struct ow_thread *thread = &c->threads[telling_thread(t)].info;
	const char *why = thread->why.msg;
	int code = thread->why.code ? thread->why.code : OW_CODE_ABSENT;

	if (thread->tid != c->pid && c->nr_threads > 1 &&
	    strncmp(why, subject, strlen(subject)) == 0)
		return ow_fail(err, code, "process %d: thread %d %s", c->pid,
			       thread->tid, why + strlen(subject));
	return ow_fail(err, code, "process %d: %s", c->pid, why);
}

/*
 * If no thread was captured, a thread's reason is the answer.  Who asks for threads in
 * a state is told of one that runs code of another kind, too.
 */
static int check_captured(const struct ow_taken *t, struct ow_error *err)
{
	const struct ow_capture *c = t->c;
	size_t i;

	if (c->nr_threads == 0)
		return 0;
	for (i = 0; i < c->nr_threads; i++)
		if (is_answer(&c->threads[i].info, t->options->states))
			return 0;
	return explain_none(t, err);
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

/* Each in the one line for all; what one says, another one leaves as it is. */
__attribute__((format(printf, 2, 3))) static void warn(struct ow_capture *c,
						       const char *format, ...)
{
	size_t used = strlen(c->warning);
	va_list args;

	va_start(args, format);
	if (used > 0 && used + 2 < sizeof(c->warning)) {
		memcpy(c->warning + used, "; ", 3);
		used += 2;
	}
	vsnprintf(c->warning + used, sizeof(c->warning) - used, format, args);
	va_end(args);
}

/* The threads of which there was no time to find what their stacks lead to. */
static size_t count_unsearched(const struct ow_taken *t)
{
	size_t i, nr = 0;

	for (i = 0; i < t->c->nr_threads; i++)
		nr += t->c->threads[i].info.captured &&
		      t->threads[i].is_unsearched;
	return nr;
}

/* Stacks of several moments need not fit together, in a line for all. */
static void note_moments(struct ow_taken *t)
{
	struct ow_capture *c = t->c;
	size_t nr = ow_taken_doubt_shared(t), unsearched = count_unsearched(t);

	if (t->most_together > 1)
		warn(c,
		     "so much is mapped, or reads wait for so long, that up to "
		     "%zu of its threads were stopped together",
		     t->most_together);
	if (t->is_lacking)
		warn(c, "its threads are started faster than they can be "
			"stopped: some may be missing");
	if (unsearched > 0)
		warn(c,
		     "there was no time to find what the stacks of %zu of "
		     "its threads lead to: they may be cut short",
		     unsearched);
	if (t->plan.nr_unasked > 0)
		warn(c,
		     "there was no time to look for %zu stacks of its "
		     "threads, which the process may not read, or which were "
		     "mapped just then: they may be missing",
		     t->plan.nr_unasked);
	if (nr > 0)
		warn(c,
		     "stacks of %zu of its threads are in shared memory "
		     "(MAP_SHARED), which another process may have changed "
		     "meanwhile: they are uncertain",
		     nr);
	if (t->sharing == OW_SHARING_UNKNOWN)
		warn(c, "it could not be found out in time whether another "
			"process shares its memory: stacks end at code that "
			"is seen to be replaced");
	if (t->sharing == OW_SHARING_UNASKED)
		warn(c, "no process could be started to find out whether "
			"another one shares its memory: stacks end at code "
			"that is seen to be replaced");
	if (t->sharing == OW_SHARING_FOUND)
		warn(c, "another process shares its memory and is not stopped "
			"with it: stacks end at code that this one replaces");
	if (c->stats.moments > 1)
		warn(c,
		     "its threads were taken in %u moments, none longer "
		     "than %.0f ms: stacks of different threads may not "
		     "be of one time",
		     c->stats.moments, (double)c->stats.longest_ns / 1e6);
}

static void warn_of_unserved(struct ow_capture *c)
{
	unsigned long long start = c->unserved.list[0].start;
	struct ow_error none;

	if (!c->unserved.start_errno) {
		warn(c,
		     "memory from %#llx on could not be read within %u ms, "
		     "what serves it did not answer: stacks there are cut "
		     "short",
		     start, c->unserved.ms);
		return;
	}
	errno = c->unserved.start_errno;
	ow_delegate_fail(&none);
	warn(c,
	     "memory from %#llx on was not read, %.160s: stacks there are "
	     "cut short",
	     start, none.msg);
}

/* What a stop could not wait for, for walks and in a line for all. */
static void note_unserved(struct ow_taken *t)
{
	struct ow_capture *c = t->c;

	c->over = t->copy.over;
	if (c->over.nr > 0)
		warn(c,
		     "stacks take more memory than they may "
		     "(--memory-limit): from %#llx on they are cut short",
		     (unsigned long long)c->over.list[0].start);
	c->unserved = t->copy.unserved;
	c->unserved.ms = (unsigned int)(t->copy.limit_ns / 1000000);
	if (c->unserved.nr > 0)
		warn_of_unserved(c);
}

static int take(struct taking *taking, struct ow_error *err)
{
	struct ow_taken *t = &taking->t;
	int failed = take_undisturbed(taking);

	if (failed)
		return failed;
	note_moments(t);
	note_unserved(t);
	errno = t->c->unserved.start_errno;
	if (errno && t->c->stats.bytes_copied == 0)
		return ow_delegate_fail(err);
	explain_late(t);
	hand_over_regions(t);
	failed = check_captured(t, err);
	if (!failed)
		failed = list_modules(t, err);
	if (failed)
		return failed;
	ow_capture_sort(t->c);
	return keep_copy(t, err);
}

struct ow_capture *ow_process_capture(pid_t pid, int tasks,
				      const struct ow_capture_options *options,
				      struct ow_error *err)
{
	static const struct ow_capture_options defaults;
	struct taking taking = { .tasks = tasks,
				 .options = options ? options : &defaults };
	struct ow_capture *c;
	int failed;

	if (pid == getpid()) {
		ow_fail(err, OW_CODE_UNSUPPORTED,
			"process %d is the one that looks: it can't stop "
			"itself",
			pid);
		return NULL;
	}
	c = ow_ownproc_check(err) ? NULL : ow_capture_create(err);
	if (!c)
		return NULL;
	c->pid = pid;
	c->open = ow_procobject_open;
	ow_capture_use_tables(c, options);
	taking.c = c;
	taking.err = err;
	ow_taken_init(&taking.t);
	failed = take(&taking, err);
	ow_taken_free(&taking.t);
	if (!failed)
		return c;
	ow_capture_destroy(c);
	return NULL;
}

struct ow_capture *ow_capture_process(pid_t pid,
				      const struct ow_capture_options *options,
				      struct ow_error *err)
{
	return ow_process_capture(pid, -1, options, err);
}
