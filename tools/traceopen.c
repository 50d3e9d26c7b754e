// SPDX-License-Identifier: BSD-2-Clause
#include "traceopen.h"

#include <string.h>

#include "budget.h"

enum begun_kind {
	BEGUN_SYSCALL,
	BEGUN_WAIT,
	NR_BEGUN_KINDS
};

/* A process whose threads have begun something. */
struct beginner {
	struct trace_record record;
	size_t own; /* bytes taken from the budget */
};

struct begun {
	struct trace_stack stack; /* nr 0: none */
	struct beginner *of;      /* who has the memory */
};

struct trace_thread {
	struct trace_record record;
	struct begun begun[NR_BEGUN_KINDS];
};

static bool begins_with(const char *text, const char *begin)
{
	return strncmp(text, begin, strlen(begin)) == 0;
}

static size_t size_of(const struct trace_stack *s)
{
	return s->nr * (sizeof(*s->places) + sizeof(*s->pcs));
}

static void drop(struct begun *b)
{
	if (b->stack.nr)
		ow_budget_give(&b->of->own, size_of(&b->stack));
	trace_stack_free(&b->stack);
}

/* Return false if there is no room for it. */
static bool keep(struct trace_open *o, const char *host, enum begun_kind kind,
		 const struct trace_stack *s)
{
	struct trace_thread *t = trace_list_add(
		&o->threads, sizeof(*t), (struct trace_key){ host, s->tid });
	struct beginner *of = trace_list_add(
		&o->processes, sizeof(*of), (struct trace_key){ host, s->pid });

	if (t)
		drop(&t->begun[kind]);
	if (!t || !of || !ow_budget_take(&of->own, size_of(s)))
		return false;
	t->begun[kind] = (struct begun){ *s, of };
	return true;
}

void trace_open_begin(struct trace_open *o, const char *host,
		      const struct ctf_event *e, struct trace_stack *s)
{
	bool is_wait = strcmp(s->label, "sched_switch") == 0;
	bool is_call = begins_with(s->label, "syscall_entry_") ||
		       begins_with(s->label, "compat_syscall_entry_");

	if (!ctf_has(e, CTF_TID) || (!is_wait && !is_call)) {
		trace_stack_free(s);
	} else if (host &&
		   keep(o, host, is_wait ? BEGUN_WAIT : BEGUN_SYSCALL, s)) {
		*s = (struct trace_stack){ 0 };
	} else {
		o->nr_left_out++;
		trace_stack_free(s);
	}
}

static void end(struct trace_open *o, const char *host, int64_t tid,
		enum begun_kind kind, const struct ctf_event *e,
		void (*ended)(void *arg, const struct trace_stack *s,
			      const struct ctf_event *end),
		void *arg)
{
	struct trace_thread *t =
		trace_list_get(&o->threads, (struct trace_key){ host, tid });
	struct begun *b = t ? &t->begun[kind] : NULL;

	if (!b || !b->stack.nr)
		return;
	if (e->time >= b->stack.time)
		ended(arg, &b->stack, e);
	drop(b);
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

static void drop_all(void *record)
{
	struct trace_thread *t = record;
	size_t i;

	for (i = 0; i < NR_BEGUN_KINDS; i++)
		drop(&t->begun[i]);
}

void trace_open_deinit(struct trace_open *o)
{
	trace_list_each(&o->threads, drop_all);
	trace_list_deinit(&o->threads);
	trace_list_deinit(&o->processes);
}
