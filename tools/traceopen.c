// SPDX-License-Identifier: BSD-2-Clause
#include "traceopen.h"

#include <string.h>

#include "budget.h"

#define LITTLE    64 /* part of the limit that a process has: others make room */
#define MOST_GONE 64 /* threads that do so, for one stack */

enum begun_kind {
	BEGUN_SYSCALL,
	BEGUN_WAIT,
	NR_BEGUN_KINDS
};

/* A process whose threads have begun something. */
struct beginner {
	struct trace_record record;
	size_t own; /* bytes taken from the budget, for threads and stacks */
};

/* A thread that has begun something; it is removed when all of that has ended. */
struct trace_thread {
	struct trace_record record;
	struct beginner *of; /* who has the memory */
	struct trace_thread *older, *newer;
	struct trace_stack begun[NR_BEGUN_KINDS]; /* nr 0: none */
};

static bool begins_with(const char *text, const char *begin)
{
	return strncmp(text, begin, strlen(begin)) == 0;
}

static size_t size_of(const struct trace_stack *s)
{
	return s->nr * (sizeof(*s->places) + sizeof(*s->pcs));
}

static void drop(struct trace_thread *t, enum begun_kind kind)
{
	struct trace_stack *s = &t->begun[kind];

	if (s->nr)
		ow_budget_give(&t->of->own, size_of(s));
	trace_stack_free(s);
}

/* --- in the order of beginnings --- */

static void unlink_thread(struct trace_open *o, struct trace_thread *t)
{
	*(t->older ? &t->older->newer : &o->oldest) = t->newer;
	*(t->newer ? &t->newer->older : &o->newest) = t->older;
}

static void link_newest(struct trace_open *o, struct trace_thread *t)
{
	t->older = o->newest;
	t->newer = NULL;
	*(o->newest ? &o->newest->newer : &o->oldest) = t;
	o->newest = t;
}

/* --- threads and processes --- */

static void remove_if_empty(struct trace_open *o, struct beginner *of)
{
	if (of->own == 0)
		trace_list_remove(&o->processes, of, sizeof(*of), NULL);
}

static void remove_thread(struct trace_open *o, struct trace_thread *t)
{
	struct beginner *of = t->of;
	unsigned int i;

	for (i = 0; i < NR_BEGUN_KINDS; i++)
		drop(t, i);
	unlink_thread(o, t);
	trace_list_remove(&o->threads, t, sizeof(*t), &of->own);
	remove_if_empty(o, of);
}

static void end_one(struct trace_open *o, struct trace_thread *t,
		    enum begun_kind kind)
{
	drop(t, kind);
	if (!t->begun[BEGUN_SYSCALL].nr && !t->begun[BEGUN_WAIT].nr)
		remove_thread(o, t);
}

static struct beginner *get_process(const struct trace_open *o,
				    const char *host, int64_t pid)
{
	return trace_list_get(&o->processes, (struct trace_key){ host, pid });
}

static struct trace_thread *get_thread(const struct trace_open *o,
				       const char *host, int64_t tid)
{
	return trace_list_get(&o->threads, (struct trace_key){ host, tid });
}

static struct trace_thread *add_thread(struct trace_open *o,
				       struct beginner *of, const char *host,
				       int64_t tid)
{
	struct trace_thread *t = trace_list_add(&o->threads, sizeof(*t),
						(struct trace_key){ host, tid },
						&of->own);

	if (!t)
		return NULL;
	t->of = of;
	link_newest(o, t);
	return t;
}

/* The thread of a stack, which is the newest then; NULL: there is no room for it. */
static struct trace_thread *thread_of(struct trace_open *o, const char *host,
				      const struct trace_stack *s)
{
	struct trace_thread *t = get_thread(o, host, s->tid);
	struct beginner *of;

	/* The number is another thread's now. */
	if (t && t->of->record.key.id != s->pid) {
		remove_thread(o, t);
		t = NULL;
	}
	if (t) {
		unlink_thread(o, t);
		link_newest(o, t);
		return t;
	}
	of = trace_list_add(&o->processes, sizeof(*of),
			    (struct trace_key){ host, s->pid }, NULL);
	t = of ? add_thread(o, of, host, s->tid) : NULL;
	if (of && !t)
		remove_if_empty(o, of);
	return t;
}

/* --- what begins --- */

/* Return false if there is no room for it. */
static bool keep(struct trace_open *o, const char *host, enum begun_kind kind,
		 const struct trace_stack *s)
{
	struct trace_thread *t = thread_of(o, host, s);

	if (!t)
		return false;
	drop(t, kind);
	if (!ow_budget_take(&t->of->own, size_of(s))) {
		end_one(o, t, kind);
		return false;
	}
	t->begun[kind] = *s;
	return true;
}

static void leave_out(struct trace_open *o, int64_t pid, unsigned int nr)
{
	o->nr_left_out += nr;
	trace_lack_add(&o->lack, pid);
}

/* Leave out what began first for a process that has little; false: it has not. */
static bool make_room(struct trace_open *o, const char *host, int64_t pid)
{
	const struct beginner *of = get_process(o, host, pid);
	struct trace_thread *t = o->oldest;

	if (!t || (of && of->own > ow_get_memory_limit() / LITTLE))
		return false;
	leave_out(o, t->of->record.key.id,
		  (t->begun[BEGUN_SYSCALL].nr > 0) +
			  (t->begun[BEGUN_WAIT].nr > 0));
	remove_thread(o, t);
	return true;
}

/* Is it a system call that doesn't return? */
static bool is_last(const char *label)
{
	static const char *const labels[] = {
		"syscall_entry_exit",        "syscall_entry_exit_group",
		"compat_syscall_entry_exit", "compat_syscall_entry_exit_group",
		"compat_syscall_entry_1",    "compat_syscall_entry_252",
	};
	size_t i;

	for (i = 0; i < sizeof(labels) / sizeof(labels[0]); i++)
		if (strcmp(label, labels[i]) == 0)
			return true;
	return false;
}

static void end_thread(struct trace_open *o, const char *host, int64_t tid)
{
	struct trace_thread *t = get_thread(o, host, tid);

	if (t)
		remove_thread(o, t);
}

/* Keep a stack, in place of others where there is no room; else leave it out. */
static void keep_or_not(struct trace_open *o, const char *host,
			enum begun_kind kind, struct trace_stack *s)
{
	unsigned int gone = 0;
	bool is_kept = keep(o, host, kind, s);

	while (!is_kept && gone++ < MOST_GONE && make_room(o, host, s->pid))
		is_kept = keep(o, host, kind, s);
	if (is_kept) {
		*s = (struct trace_stack){ 0 };
		return;
	}
	leave_out(o, s->pid, 1);
	trace_stack_free(s);
}

void trace_open_begin(struct trace_open *o, const char *host,
		      const struct ctf_event *e, struct trace_stack *s)
{
	bool is_wait = strcmp(s->label, "sched_switch") == 0;
	bool is_call = begins_with(s->label, "syscall_entry_") ||
		       begins_with(s->label, "compat_syscall_entry_");

	if (!ctf_has(e, CTF_TID) || (!is_wait && !is_call)) {
		trace_stack_free(s);
	} else if (!host) {
		leave_out(o, s->pid, 1);
		trace_stack_free(s);
	} else if (is_last(s->label)) {
		end_thread(o, host, s->tid);
		trace_stack_free(s);
	} else {
		keep_or_not(o, host, is_wait ? BEGUN_WAIT : BEGUN_SYSCALL, s);
	}
}

static void end(struct trace_open *o, const char *host, int64_t tid,
		enum begun_kind kind, const struct ctf_event *e,
		void (*ended)(void *arg, const struct trace_stack *s,
			      const struct ctf_event *end),
		void *arg)
{
	struct trace_thread *t = get_thread(o, host, tid);

	if (!t || !t->begun[kind].nr)
		return;
	if (e->time >= t->begun[kind].time)
		ended(arg, &t->begun[kind], e);
	end_one(o, t, kind);
}

void trace_open_end(struct trace_open *o, const char *host,
		    const struct ctf_event *e,
		    void (*ended)(void *arg, const struct trace_stack *s,
				  const struct ctf_event *end),
		    void *arg)
{
	bool exits = begins_with(e->name, "syscall_exit_") ||
		     begins_with(e->name, "compat_syscall_exit_") ||
		     strcmp(e->name, "kunwind_syscall_exit") == 0;

	if (exits && ctf_has(e, CTF_TID))
		end(o, host, e->numbers[CTF_TID], BEGUN_SYSCALL, e, ended, arg);
	if (strcmp(e->name, "sched_switch") == 0 && ctf_has(e, CTF_NEXT_TID))
		end(o, host, e->numbers[CTF_NEXT_TID], BEGUN_WAIT, e, ended,
		    arg);
}

void trace_open_deinit(struct trace_open *o)
{
	while (o->oldest)
		remove_thread(o, o->oldest);
	trace_list_deinit(&o->threads);
	trace_list_deinit(&o->processes);
}
