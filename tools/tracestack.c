// SPDX-License-Identifier: BSD-2-Clause
#include "tracestack.h"

#include <stdlib.h>
#include <string.h>

#include <outwind/record.h>

#include "hash.h"

/* LTTng ends a stack so that had more frames than it has room for. */
#define CUT_SHORT UINT64_MAX

static void label_point(const struct ctf_event *e, char *buf)
{
	int64_t nr = ctf_has(e, CTF_NR) ? e->numbers[CTF_NR] : -1;
	int64_t point = ctf_has(e, CTF_POINT) ? e->numbers[CTF_POINT] : -1;
	const char *name;

	switch (point) {
	case 0:
		name = ow_syscall_text(nr < 0 || nr > 9999 ? -1 : (int)nr);
		if (name)
			snprintf(buf, 64, "syscall_entry_%s", name);
		else
			snprintf(buf, 64, "syscall_entry_%lld", (long long)nr);
		break;
	case 1:
		snprintf(buf, 64, "compat_syscall_entry_%lld", (long long)nr);
		break;
	case 2: snprintf(buf, 64, "sched_switch"); break;
	case 3: snprintf(buf, 64, "timer"); break;
	default: snprintf(buf, 64, "%s", e->name); break;
	}
}

void trace_label(const struct ctf_event *e, char *buf)
{
	if (strcmp(e->name, "kunwind_callstack") == 0)
		label_point(e, buf);
	else
		snprintf(buf, 64, "%s", e->name);
}

static enum ow_end end_of(const struct ctf_event *e)
{
	size_t nr = e->nr[CTF_USER_STACK];
	int64_t reason = e->numbers[CTF_REASON];

	if (nr && e->lists[CTF_USER_STACK][nr - 1] == CUT_SHORT)
		return OW_END_LIMIT;
	return ctf_has(e, CTF_REASON) && reason >= 0 && reason < OW_NR_ENDS ?
		       (enum ow_end)reason :
		       OW_END_NOT_YET;
}

bool trace_stack_take(struct trace_stack *s, struct tracemaps *maps,
		      const struct ctf_event *e)
{
	const struct trace_program program = trace_program_of(e);
	const uint64_t *pcs = e->lists[CTF_USER_STACK];
	const char *host;
	size_t i;

	*s = (struct trace_stack){ .pid = -1, .tid = -1, .time = e->time };
	s->nr = e->nr[CTF_USER_STACK];
	if (s->nr && pcs[s->nr - 1] == CUT_SHORT)
		s->nr--;
	if (s->nr == 0)
		return false;
	s->places = calloc(s->nr, sizeof(*s->places));
	s->pcs = calloc(s->nr, sizeof(*s->pcs));
	if (!s->places || !s->pcs) {
		maps->failed = true;
		trace_stack_free(s);
		return false;
	}
	trace_label(e, s->label);
	if (e->texts[CTF_COMM])
		snprintf(s->comm, sizeof(s->comm), "%s", e->texts[CTF_COMM]);
	if (ctf_has(e, CTF_PID))
		s->pid = e->numbers[CTF_PID];
	if (ctf_has(e, CTF_TID))
		s->tid = e->numbers[CTF_TID];
	s->end = end_of(e);
	host = tracemaps_host(maps, e->host);
	s->host = host ? host : "";
	for (i = 0; i < s->nr; i++) {
		s->pcs[i] = pcs[i];
		s->places[i] = tracemaps_find(maps, host, s->pid, &program,
					      i ? pcs[i] - 1 : pcs[i]);
		s->places[i].off += i != 0;
	}
	return true;
}

void trace_stack_free(struct trace_stack *s)
{
	free(s->places);
	free(s->pcs);
	*s = (struct trace_stack){ 0 };
}

uint64_t trace_stack_owner(const struct trace_stack *s)
{
	const uint64_t words[] = { (uintptr_t)s->host, (uint64_t)s->pid };

	return ow_hash(words, sizeof(words));
}

static bool is_trampoline(const struct trace_stack *s,
			  const struct tracemaps *maps, size_t i)
{
	return i > 0 &&
	       ow_places_is_trampoline(maps->places, s->places[i].object,
				       s->places[i].off);
}

unsigned int trace_stack_flags(const struct trace_stack *s,
			       const struct tracemaps *maps, size_t i)
{
	if (is_trampoline(s, maps, i))
		return OW_FRAME_SIGNAL;
	return i && !is_trampoline(s, maps, i - 1) ? OW_FRAME_RETURN : 0;
}

size_t trace_stack_name(const struct trace_stack *s,
			const struct tracemaps *maps, size_t i,
			struct ow_name *names, size_t max)
{
	return ow_places_name(maps->places, s->places[i].object,
			      s->places[i].off, trace_stack_flags(s, maps, i),
			      names, max);
}
