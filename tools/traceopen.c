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
	unsigned int host;
	int64_t tid;
	struct trace_stack stacks[NR_BEGUN_KINDS]; /* nr 0: none */
};

static size_t place_of(const struct trace_open *o, unsigned int host,
		       int64_t tid)
{
	size_t low = 0, high = o->nr, mid;

	while (low < high) {
		mid = low + (high - low) / 2;
		if (o->all[mid].tid < tid ||
		    (o->all[mid].tid == tid && o->all[mid].host < host))
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

static struct trace_begun *get(struct trace_open *o, unsigned int host,
			       int64_t tid)
{
	size_t i = place_of(o, host, tid);

	return i < o->nr && o->all[i].tid == tid && o->all[i].host == host ?
		       &o->all[i] :
		       NULL;
}

static struct trace_begun *add(struct trace_open *o, unsigned int host,
			       int64_t tid)
{
	size_t i = place_of(o, host, tid);
	struct trace_begun *more;

	if (o->nr == o->room) {
		more = realloc(o->all, (2 * o->room + 64) * sizeof(*more));
		if (!more)
			return NULL;
		o->all = more;
		o->room = 2 * o->room + 64;
	}
	memmove(o->all + i + 1, o->all + i, (o->nr++ - i) * sizeof(*o->all));
	o->all[i] = (struct trace_begun){ .host = host, .tid = tid };
	return &o->all[i];
}

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

	if (ctf_has(e, CTF_TID) && (is_wait || is_call)) {
		b = get(o, host, s->tid);
		if (!b)
			b = add(o, host, s->tid);
	}
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
	struct trace_begun *b = get(o, host, tid);

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
	size_t i, k;

	for (i = 0; i < o->nr; i++)
		for (k = 0; k < NR_BEGUN_KINDS; k++)
			trace_stack_free(&o->all[i].stacks[k]);
	free(o->all);
	*o = (struct trace_open){ 0 };
}
