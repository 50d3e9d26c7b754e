// SPDX-License-Identifier: BSD-2-Clause
#include "traceopen.h"

#include <stdlib.h>
#include <string.h>

enum begun_kind {
	BEGUN_SYSCALL,
	BEGUN_WAIT,
	NR_BEGUN_KINDS
};

struct trace_begun {
	struct trace_key key;
	struct trace_stack stacks[NR_BEGUN_KINDS]; /* nr 0: none */
};

static bool begins_with(const char *text, const char *begin)
{
	return strncmp(text, begin, strlen(begin)) == 0;
}

void trace_open_begin(struct trace_open *o, unsigned int host,
		      const struct ctf_event *e, struct trace_stack *s)
{
	bool is_wait = strcmp(s->label, "sched_switch") == 0;
	bool is_call = begins_with(s->label, "syscall_entry_") ||
		       begins_with(s->label, "compat_syscall_entry_");
	struct trace_begun *b = NULL;

	if (ctf_has(e, CTF_TID) && (is_wait || is_call))
		b = trace_list_add(&o->threads, sizeof(*b),
				   (struct trace_key){ host, s->tid });
	if (!b) {
		trace_stack_free(s);
		return;
	}
	trace_stack_free(&b->stacks[is_wait ? BEGUN_WAIT : BEGUN_SYSCALL]);
	b->stacks[is_wait ? BEGUN_WAIT : BEGUN_SYSCALL] = *s;
	*s = (struct trace_stack){ 0 };
}

static void end(struct trace_open *o, unsigned int host, int64_t tid,
		enum begun_kind kind, const struct ctf_event *e,
		void (*ended)(void *arg, const struct trace_stack *s,
			      const struct ctf_event *end),
		void *arg)
{
	struct trace_begun *b = trace_list_get(&o->threads, sizeof(*b),
					       (struct trace_key){ host, tid });

	if (!b || !b->stacks[kind].nr)
		return;
	if (e->time >= b->stacks[kind].time)
		ended(arg, &b->stacks[kind], e);
	trace_stack_free(&b->stacks[kind]);
}

void trace_open_end(struct trace_open *o, unsigned int host,
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
	struct trace_begun *all = o->threads.all;
	size_t i, k;

	for (i = 0; i < o->threads.nr; i++)
		for (k = 0; k < NR_BEGUN_KINDS; k++)
			trace_stack_free(&all[i].stacks[k]);
	free(all);
	*o = (struct trace_open){ 0 };
}
