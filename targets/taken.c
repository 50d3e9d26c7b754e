// SPDX-License-Identifier: BSD-2-Clause
#include "taken.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "delegate.h"
#include "error.h"
#include "hash.h"
#include "monotonic.h"
#include "procfs.h"
#include "prstatus.h"
#include "reach.h"
#include "remapped.h"
#include "taskextras.h"

#define USUAL_STACK    ((size_t)6 << 10)  /* copied of most threads' stacks */
#define DEEP_STACK     ((size_t)16 << 10) /* and of deep ones, */
#define DEEP_READY     ((size_t)1 << 20)  /* if they are few */
#define MOST_LOOKS     20                 /* a millisecond apart */
#define MOST_READY     ((size_t)64 << 20) /* of pages made ready for copies */
#define MOST_ASKED     16 /* threads whose stacks' mappings are asked for anew */
#define READ_LIMIT_MS  1000
#define FEWEST_BUCKETS 64
#define MOST_OTHERS    10000 /* that are let go at a time */
#define MOST_LISTS     16    /* of threads, if one isn't whole */

uint64_t ow_taken_read_limit(const struct ow_capture_options *options)
{
	uint64_t ms = options->read_timeout_ms;

	return (ms ? ms : READ_LIMIT_MS) * 1000000;
}

uint64_t ow_taken_moment_ns(const struct ow_capture_options *options)
{
	uint64_t ms = options->freeze_limit_ms;

	return (ms ? ms : OW_TAKEN_MOMENT_MS) * 1000000;
}

void ow_taken_init(struct ow_taken *t)
{
	*t = (struct ow_taken){ .dir = -1, .mem.fd = -1 };
}

int ow_taken_begin(struct ow_taken *t, struct ow_capture *c, int tasks,
		   const struct ow_capture_options *options,
		   struct ow_error *err)
{
	ow_taken_init(t);
	t->c = c;
	t->options = options;
	t->plan.maps = &t->maps;
	t->plan.copy = &t->copy;
	t->plan.limit = options->stack_size;
	t->worker_flags = ow_task_worker_flags();
	t->copy.limit_ns = ow_taken_read_limit(options);
	if (tasks < 0) {
		t->dir = ow_tasks_open(c->pid, err);
		return t->dir < 0 ? t->dir : 0;
	}
	t->dir = fcntl(tasks, F_DUPFD_CLOEXEC, 0);
	return t->dir < 0 ? ow_fail(err, OW_CODE_SYSTEM, "list threads") : 0;
}

void ow_taken_end(struct ow_taken *t)
{
	if (t->dir >= 0)
		close(t->dir);
	t->dir = -1;
	ow_processmem_close(&t->mem);
	ow_mappings_close(&t->maps);
}

void ow_taken_forget_files(struct ow_taken *t)
{
	t->dir = -1;
	t->mem.fd = -1;
	t->maps.is_open = false;
}

void ow_taken_free(struct ow_taken *t)
{
	ow_taken_end(t);
	ow_mappings_free(&t->maps);
	ow_stackcopy_free(&t->copy);
	free(t->copy.regions);
	free(t->threads);
	free(t->by_id);
}

static bool is_asked_for(const struct ow_capture_options *o, pid_t tid)
{
	size_t i;

	if (!o->tids)
		return true;
	for (i = 0; i < o->nr_tids; i++)
		if (o->tids[i] == tid)
			return true;
	return false;
}

/* The bucket that leads to the thread of that id, or is to: it is empty then. */
static uint32_t *bucket_of(const struct ow_taken *t, pid_t tid)
{
	size_t mask = t->room_by_id - 1;
	size_t at = ow_hash_word((uint64_t)tid) & mask;

	while (t->by_id[at] && t->c->threads[t->by_id[at] - 1].info.tid != tid)
		at = (at + 1) & mask;
	return &t->by_id[at];
}

static bool is_listed(const struct ow_taken *t, pid_t tid)
{
	return t->room_by_id > 0 && *bucket_of(t, tid) != 0;
}

static struct ow_stop *stop_of(struct ow_taken *t, pid_t tid)
{
	return is_listed(t, tid) ? &t->threads[*bucket_of(t, tid) - 1].stop :
				   NULL;
}

void ow_taken_let_go_others(struct ow_taken *t)
{
	int i, status;
	pid_t tid;

	for (i = 0; i < MOST_OTHERS; i++) {
		tid = ow_stop_next(&status);
		if (tid == 0)
			return;
		ow_stop_settle(stop_of(t, tid), tid, status);
	}
}

/* Half of the buckets are empty, and more. */
static bool grow_buckets(struct ow_taken *t, size_t room)
{
	size_t i, nr = FEWEST_BUCKETS;
	uint32_t *more;

	while (nr < 2 * room)
		nr *= 2;
	if (nr <= t->room_by_id)
		return true;
	more = calloc(nr, sizeof(*more));
	if (!more)
		return false;
	free(t->by_id);
	t->by_id = more;
	t->room_by_id = nr;
	for (i = 0; i < t->c->nr_threads; i++)
		*bucket_of(t, t->c->threads[i].info.tid) = (uint32_t)i + 1;
	return true;
}

static int make_room(struct ow_taken *t, size_t room, struct ow_error *err)
{
	struct ow_capture *c = t->c;
	void *threads, *beside;

	if (room <= t->room)
		return 0;
	threads = realloc(c->threads, room * sizeof(*c->threads));
	if (threads)
		c->threads = threads;
	beside = realloc(t->threads, room * sizeof(*t->threads));
	if (beside)
		t->threads = beside;
	if (!threads || !beside || !grow_buckets(t, room))
		return ow_fail(err, OW_CODE_MEMORY, "out of memory");
	/* Touched now, so that none of it is faulted in later. */
	memset(c->threads + t->room, 0, (room - t->room) * sizeof(*c->threads));
	memset(t->threads + t->room, 0, (room - t->room) * sizeof(*t->threads));
	t->room = room;
	return 0;
}

static int add_thread(struct ow_taken *t, const struct ow_thread *info,
		      struct ow_error *err)
{
	struct ow_capture *c = t->c;
	int failed = 0;

	if (c->nr_threads == t->room)
		failed = make_room(t, t->room ? 2 * t->room : 16, err);
	if (failed)
		return failed;
	*bucket_of(t, info->tid) = (uint32_t)c->nr_threads + 1;
	c->threads[c->nr_threads] = (struct ow_capture_thread){ .info = *info };
	t->threads[c->nr_threads++] = (struct ow_taken_thread){
		.region = -1,
		.stop.why = info->why,
	};
	return 0;
}

/*
 * A list ends early where the thread that it has come to ends (Linux, next_tid()).  Where
 * all lists do, the longest one is taken.
 */
static int list_whole(struct ow_taken *t, pid_t **ret, size_t *nr_ret,
		      struct ow_error *err)
{
	int i, failed = ow_tasks_list(t->dir, ret, nr_ret, err);

	for (i = 0; !failed && i < MOST_LISTS; i++) {
		pid_t *tids = NULL, *before = *ret;
		size_t nr = 0;

		if (*nr_ret >= ow_tasks_count(t->dir))
			break;
		failed = ow_tasks_list(t->dir, &tids, &nr, err);
		if (nr > *nr_ret) {
			*ret = tids;
			*nr_ret = nr;
			tids = before;
		}
		free(tids);
	}
	return failed;
}

/* The ids of all threads; the caller frees *ret. */
static int list_ids(struct ow_taken *t, pid_t **ret, size_t *nr_ret,
		    struct ow_error *err)
{
	/* If there is one, it is the leader, which the others don't outlive. */
	if (ow_tasks_count(t->dir) != 1)
		return list_whole(t, ret, nr_ret, err);
	*ret = malloc(sizeof(**ret));
	if (!*ret)
		return ow_fail(err, OW_CODE_MEMORY, "out of memory");
	**ret = t->c->pid;
	*nr_ret = 1;
	return 0;
}

/* A thread that runs no code of the program need not be stopped. */
static void explain_worker(struct ow_thread *info, uint32_t flags)
{
	if (flags & OW_TASK_IO_WORKER)
		ow_fail(&info->why, OW_CODE_NO_STACK,
			"a worker of io_uring: it has no stack in the program");
	else if (flags & OW_TASK_USER_WORKER)
		ow_fail(&info->why, OW_CODE_NO_STACK,
			"a worker of the kernel (vhost): it has no stack in "
			"the program");
}

/* A thread's name and state; and of the leader where its stack began. */
static void read_stat(struct ow_taken *t, struct ow_thread *info)
{
	struct ow_task task;

	if (!ow_task_read(t->c->pid, info->tid, &task))
		return;
	memcpy(info->name, task.name, sizeof(info->name));
	info->state = task.state;
	if (info->tid == t->c->pid)
		t->plan.main_start = task.stack_start;
	explain_worker(info, task.flags & t->worker_flags);
}

void ow_taken_name(struct ow_taken *t, size_t i)
{
	struct ow_thread *info = &t->c->threads[i].info;
	char state;

	if (!info->name[0])
		ow_task_stat(t->c->pid, info->tid, info->name,
			     sizeof(info->name), &state);
}

static void read_extras(struct ow_taken *t, size_t i)
{
	struct ow_thread *info = &t->c->threads[i].info;

	ow_taskextras_read(t->c->pid, info->tid, t->options->extras, info,
			   &t->threads[i].call.pc);
}

int ow_taken_list(struct ow_taken *t, size_t *nr_ret, struct ow_error *err)
{
	_cleanup_(ow_freep) pid_t *tids = NULL;
	const char *states = t->options->states;
	size_t nr, i, before = t->c->nr_threads;
	struct ow_thread info;
	int failed = list_ids(t, &tids, &nr, err);

	for (i = 0; !failed && i < nr; i++) {
		if (!is_asked_for(t->options, tids[i]) || is_listed(t, tids[i]))
			continue;
		info = (struct ow_thread){ .tid = tids[i],
					   .state = '?',
					   .syscall_nr = OW_SYSCALL_UNKNOWN };
		read_stat(t, &info);
		if (states && !strchr(states, info.state))
			continue;
		failed = add_thread(t, &info, err);
		if (!failed)
			read_extras(t, t->c->nr_threads - 1);
	}
	*nr_ret = t->c->nr_threads - before;
	return failed;
}

/* Threads that were listed, but for those that had ended when they were to be stopped. */
static size_t nr_alive(const struct ow_taken *t)
{
	size_t i, alive = 0;

	for (i = 0; i < t->c->nr_threads; i++)
		alive += !t->threads[i].stop.gone;
	return alive;
}

/* Where only some threads are asked for, none is that is born later. */
static bool wants_all(const struct ow_taken *t)
{
	return !t->options->tids && !t->options->states;
}

bool ow_taken_may_lack(const struct ow_taken *t)
{
	if (!wants_all(t))
		return false;
	/* Threads that were let go may have ended since. */
	if (t->c->stats.moments > 0)
		return true;
	return ow_tasks_count(t->dir) != nr_alive(t);
}

/*
 * Return true if the kernel counts a listed thread still.  An id may be another thread's
 * once so many were started as there are ids: not while the threads stand still.
 */
static bool is_counted(const struct ow_taken *t, size_t i, bool stand)
{
	pid_t tid = t->c->threads[i].info.tid;

	if (stand && !t->threads[i].stop.gone)
		return true;
	/* A first thread that has ended is counted until its process ends. */
	if (!stand && tid != t->c->pid &&
	    t->threads[i].stop.why.code == OW_CODE_ABSENT)
		return false;
	return ow_tasks_has(t->dir, tid);
}

static size_t nr_counted(const struct ow_taken *t, bool stand)
{
	size_t i, nr = 0;

	for (i = 0; i < t->c->nr_threads; i++)
		nr += is_counted(t, i, stand);
	return nr;
}

void ow_taken_count(struct ow_taken *t, bool stand)
{
	size_t nr = ow_tasks_count(t->dir);

	t->is_lacking |= wants_all(t) && (!stand || nr != nr_alive(t)) &&
			 nr > nr_counted(t, stand);
}

int ow_taken_list_absent(struct ow_taken *t, struct ow_error *err)
{
	const struct ow_capture_options *o = t->options;
	struct ow_thread info = { .state = '?',
				  .syscall_nr = OW_SYSCALL_UNKNOWN };
	size_t i;
	int failed = 0;

	for (i = 0; o->tids && i < o->nr_tids && !failed; i++) {
		if (is_listed(t, o->tids[i]))
			continue;
		info.tid = o->tids[i];
		failed = add_thread(t, &info, err);
		if (!failed)
			ow_fail(&t->threads[t->c->nr_threads - 1].stop.why,
				OW_CODE_ABSENT,
				"process %d has no such thread, or it has "
				"exited",
				t->c->pid);
	}
	return failed;
}

/*
 * Of one thread, whose stack is known as a rule; of many it isn't, and asking for
 * each while they are stopped would have them wait longer.
 */
static int read_mappings(const struct ow_taken *t, struct ow_mappings *ret,
			 struct ow_error *err)
{
	const uint64_t until = t->maps.until_ns;
	enum ow_mappings_part part = OW_MAPPINGS_CODE;
	int failed;

	if (t->c->nr_threads > MOST_ASKED)
		part = OW_MAPPINGS_ALL;
	else if (t->c->nr_threads > 1)
		part = OW_MAPPINGS_OPEN;
	failed = ow_mappings_read_until(t->c->live, part, until, ret, err);
	if (!failed && part == OW_MAPPINGS_CODE && t->plan.main_start)
		ow_mappings_from(ret, t->plan.main_start);
	return failed;
}

static int list_mappings(const struct ow_taken *t, struct ow_mappings *ret,
			 struct ow_error *err)
{
	int failed = read_mappings(t, ret, err);

	if (!failed)
		ow_remapped_settle(ret);
	return failed;
}

/* What an exec has changed: where the main stack begins, and names. */
static void name_again(struct ow_taken *t)
{
	struct ow_capture *c = t->c;
	struct ow_thread *info;
	struct ow_task leader;

	if (!ow_task_read(c->pid, c->pid, &leader))
		return;
	if (leader.stack_start)
		t->plan.main_start = leader.stack_start;
	if (is_listed(t, c->pid)) {
		info = &c->threads[*bucket_of(t, c->pid) - 1].info;
		memcpy(info->name, leader.name, sizeof(info->name));
	}
	ow_taken_name_program(t);
}

/*
 * List mappings and read names; return true in *is_one if both are of one program:
 * none was executed between.  Its stack would begin elsewhere, or the memory whose
 * mappings are listed would have ended.
 */
static int list_program(struct ow_taken *t, struct ow_mappings *ret,
			bool *is_one, struct ow_error *err)
{
	uint64_t before = t->plan.main_start;
	int failed = list_mappings(t, ret, err);

	if (failed)
		return failed;
	name_again(t);
	*is_one = t->plan.main_start == before && !ow_mappings_is_outlived(ret);
	return 0;
}

int ow_taken_list_mappings(struct ow_taken *t, struct ow_error *err)
{
	bool is_one;
	int i, failed;

	if (!t->plan.main_start)
		name_again(t);
	for (i = 0;; i++) {
		failed = list_program(t, &t->maps, &is_one, err);
		if (failed || !t->c->program || i == MOST_LOOKS)
			return failed;
		if (t->maps.nr > 0 && is_one)
			return 0;
		/* While exec replaces its program there may be nothing. */
		if (t->maps.nr == 0)
			usleep(1000);
		ow_mappings_free(&t->maps);
	}
}

/* While it is stopped, the first list is of one program. */
static int list_again(struct ow_taken *t, struct ow_mappings *ret,
		      struct ow_error *err)
{
	bool is_one;
	int i, failed;

	for (i = 0;; i++) {
		failed = list_program(t, ret, &is_one, err);
		if (failed || ret->nr == 0 || is_one || i == MOST_LOOKS)
			break;
		ow_mappings_free(ret);
	}
	if (!failed && ret->nr == 0)
		failed = ow_fail(err, OW_CODE_ABSENT, "process %d has exited",
				 t->c->pid);
	return failed;
}

int ow_taken_renew_mappings(struct ow_taken *t, struct ow_error *err)
{
	struct ow_mappings maps = { 0 };
	int failed = list_again(t, &maps, err);

	if (failed) {
		ow_mappings_free(&maps);
		return failed;
	}
	if (ow_mappings_is_outlived(&t->maps))
		ow_replaced_note_all(&t->replaced, ++t->list);
	else
		ow_replaced_note(&t->replaced, &t->maps, &maps, ++t->list);
	ow_mappings_free(&t->maps);
	t->maps = maps;
	t->program_asked = false;
	return 0;
}

/* Return true if the code that the thread runs, or returns to, was replaced. */
static bool runs_replaced(const struct ow_taken *t, size_t i)
{
	const struct ow_arch *arch = t->threads[i].arch;
	const struct ow_regs *regs = &t->c->threads[i].regs;
	uint32_t list = t->threads[i].list;

	return ow_replaced_has(&t->replaced, regs->val[arch->pc], list) ||
	       (regs->known & (uint64_t)1 << arch->ra &&
		ow_replaced_has(&t->replaced,
				regs->val[arch->ra] & arch->pc_mask, list));
}

/* Have regions [first, end) of a thread looked through; return where the next ones go. */
static struct ow_replaced_copy *add_copies(struct ow_taken *t, size_t i,
					   size_t first, size_t end,
					   struct ow_replaced_copy *to)
{
	const struct ow_arch *arch = t->threads[i].arch;

	for (; first < end; first++)
		*to++ = (struct ow_replaced_copy){
			.region = &t->copy.regions[first],
			.list = t->threads[i].list,
			.word = arch->word,
			.mask = arch->pc_mask,
			.thread = i,
		};
	return to;
}

static void cut_copies(struct ow_taken *t, struct ow_replaced_copy *copies,
		       size_t nr)
{
	const struct ow_region *r;
	size_t i;

	ow_replaced_cut(&t->replaced, copies, nr);
	for (i = 0; i < nr; i++) {
		r = copies[i].region;
		if (copies[i].is_cut)
			t->c->threads[copies[i].thread].replaced =
				r->start + r->size;
	}
}

/* What the thread ran is known to have been replaced, or can't be told. */
static void drop_replaced(struct ow_taken *t, size_t i, bool is_known)
{
	struct ow_error *why = &t->threads[i].stop.why;

	t->c->threads[i].info.captured = false;
	if (is_known)
		ow_fail(why, OW_CODE_ABSENT,
			"the code that it ran was replaced while threads were "
			"taken");
	else
		ow_fail(why, OW_CODE_MEMORY, "out of memory");
}

void ow_taken_cut_replaced(struct ow_taken *t)
{
	_cleanup_(ow_freep) struct ow_replaced_copy *copies = NULL;
	struct ow_replaced_copy *end;
	const struct ow_taken_thread *thread;
	size_t i;

	if (t->replaced.nr == 0)
		return;
	end = copies = malloc((t->copy.nr + 1) * sizeof(*copies));
	for (i = 0; i < t->c->nr_threads; i++) {
		thread = &t->threads[i];
		if (!t->c->threads[i].info.captured ||
		    (thread->list == t->list && !t->replaced.is_any_time))
			continue;
		if (!copies || runs_replaced(t, i)) {
			drop_replaced(t, i, copies);
			continue;
		}
		end = add_copies(t, i, thread->first, thread->end, end);
		end = add_copies(t, i, thread->first_home, thread->end_home,
				 end);
	}
	if (copies)
		cut_copies(t, copies, (size_t)(end - copies));
}

void ow_taken_name_program(struct ow_taken *t)
{
	char link[32], path[PATH_MAX];

	snprintf(link, sizeof(link), "/proc/%d/exe", t->c->live);
	if (ow_reach_link(link, path, sizeof(path)) <= 0)
		return;
	free(t->c->program);
	t->c->program = strdup(path);
}

/*
 * What the stacks of nr threads may come to, so that hardly a page of the copies
 * faults in a freeze.  No more than that: each page made ready takes longer than
 * a system call.
 */
static size_t ready_bytes(size_t nr)
{
	size_t usual = (nr + nr / 4) * USUAL_STACK, deep = nr * DEEP_STACK;

	if (deep > DEEP_READY)
		deep = DEEP_READY;
	if (usual > MOST_READY)
		usual = MOST_READY;
	return usual > deep ? usual : deep;
}

int ow_taken_reserve(struct ow_taken *t, struct ow_error *err)
{
	size_t room = t->c->nr_threads + t->c->nr_threads / 4 + 16;
	size_t bytes = ready_bytes(t->c->nr_threads);

	t->plan.pid = t->c->live;
	ow_processmem_open(&t->mem, t->c->live, t->options->reading);
	/* A stack has a second region where it is an alternate one. */
	if (!ow_stackcopy_reserve(&t->copy, 2 * room, bytes))
		return ow_fail(err, OW_CODE_MEMORY, "out of memory");
	return make_room(t, room, err);
}

const struct ow_arch *ow_taken_program_arch(struct ow_taken *t)
{
	_cleanup_(ow_closep) int fd = -1;
	Elf64_Ehdr head = { 0 }; /* Elf32_Ehdr begins alike */
	char path[32];
	ssize_t n;

	if (t->program_asked)
		return t->program;
	t->program_asked = true;
	snprintf(path, sizeof(path), "/proc/%d/exe", t->c->live);
	/* The file may be one of a server that doesn't answer. */
	ow_delegate_enter();
	fd = open(path, O_RDONLY | O_CLOEXEC);
	n = fd < 0 ? -1 : pread(fd, &head, sizeof(head), 0);
	ow_delegate_leave();
	if (n == sizeof(head))
		t->program = ow_arch_find(head.e_machine,
					  head.e_ident[EI_CLASS] == ELFCLASS64);
	return t->program;
}

void ow_taken_regs(struct ow_taken *t, size_t i, const void *bytes, size_t size)
{
	struct ow_capture_thread *thread = &t->c->threads[i];
	const struct ow_arch *arch = ow_prstatus_arch(size);

	if (!arch) {
		ow_fail(&t->threads[i].stop.why, OW_CODE_UNSUPPORTED,
			"thread runs code of an architecture that outwind "
			"doesn't know");
		return;
	}
	if (!ow_prstatus_has_address(arch, bytes, size)) {
		ow_fail(&t->threads[i].stop.why, OW_CODE_UNSUPPORTED,
			"thread runs code of a segment that the program has "
			"made (modify_ldt), whose address isn't known");
		return;
	}
	thread->info.captured =
		ow_prstatus_regs(arch, bytes, size, &thread->regs);
	t->threads[i].tp = ow_prstatus_tp(arch, bytes, size);
	t->threads[i].arch = arch;
}

/* Note if any of these regions is shared: their mappings have just been asked for. */
static void note_shared(struct ow_taken *t, size_t i, size_t first, size_t end)
{
	const struct ow_mapping *m;
	uint64_t start;

	for (; first < end; first++) {
		start = t->copy.regions[first].start;
		m = ow_mappings_from(&t->maps, start);
		if (m && m->start < start + t->copy.regions[first].size)
			t->threads[i].has_shared |= m->shared;
	}
}

size_t ow_taken_doubt_shared(struct ow_taken *t)
{
	size_t i, nr = 0;

	for (i = 0; i < t->c->nr_threads; i++) {
		if (!t->threads[i].has_shared ||
		    !t->c->threads[i].info.captured)
			continue;
		t->c->threads[i].info.certain = false;
		nr++;
	}
	return nr;
}

void ow_taken_plan_stack(struct ow_taken *t, size_t i)
{
	const struct ow_capture_thread *thread = &t->c->threads[i];
	struct ow_taken_thread *beside = &t->threads[i];

	if (!thread->info.captured)
		return;
	beside->list = t->list;
	beside->first = t->copy.nr;
	beside->region = ow_stackplan_add(
		&t->plan, thread->regs.val[beside->arch->sp], beside->tp);
	beside->end = beside->first_home = beside->end_home = t->copy.nr;
	beside->has_shared = beside->is_unsearched = false;
	note_shared(t, i, beside->first, beside->end);
}

static bool is_late(const struct ow_taken *t)
{
	return t->plan.until_ns && ow_now_ns() >= t->plan.until_ns;
}

void ow_taken_plan_home(struct ow_taken *t, size_t i)
{
	struct ow_taken_thread *thread = &t->threads[i];

	if (thread->region < 0)
		return;
	thread->is_unsearched = is_late(t);
	if (thread->is_unsearched)
		return;
	thread->first_home = t->copy.nr;
	ow_stackplan_add_home(&t->plan, (size_t)thread->region, thread->arch,
			      t->c->threads[i].info.tid == t->c->pid,
			      thread->tp);
	thread->end_home = t->copy.nr;
	thread->is_unsearched = is_late(t);
	note_shared(t, i, thread->first_home, thread->end_home);
}

/*
 * Plan what stopped threads' stacks lead to.  How long that takes, threads and what is
 * on their stacks decide: after half of a moment, the others have their stacks alone.
 */
static void plan_homes(struct ow_taken *t, size_t first, size_t nr)
{
	size_t i;

	t->plan.until_ns = ow_now_ns() + ow_taken_moment_ns(t->options) / 2;
	t->maps.until_ns = t->plan.until_ns;
	for (i = first; i < first + nr; i++)
		if (t->c->threads[i].info.stopped)
			ow_taken_plan_home(t, i);
	t->maps.until_ns = 0;
}

void ow_taken_copy(struct ow_taken *t, size_t first, size_t nr)
{
	struct ow_capture *c = t->c;
	size_t before;

	/* To ask for each would take longer than to take care. */
	if (nr > MOST_ASKED)
		t->copy.is_careful = true;
	t->copy.until_ns = 0;
	c->stats.bytes_copied += ow_stackcopy_run(&t->copy, &t->mem);
	before = t->copy.nr;
	plan_homes(t, first, nr);
	if (t->copy.nr > before)
		c->stats.bytes_copied += ow_stackcopy_run(&t->copy, &t->mem);
}
