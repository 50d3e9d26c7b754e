// SPDX-License-Identifier: BSD-2-Clause
#include "tracemaps.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "budget.h"
#include "tracespans.h"

#define MAX_BUILD_ID 64 /* bytes: a longer one isn't known */
#define MAX_PATH     4096

/* A mapping that the first reading told of. */
struct told {
	uint64_t life; /* of the process, in which it was */
	struct trace_program program;
	struct trace_span span;
};

/*
 * A process, by its number: what it executed one after another are its lives.  A life
 * is known by the number of the event that it began with; the first one is 0.
 */
struct trace_process {
	struct trace_record record;
	size_t own;                   /* bytes taken from the budget */
	size_t text;                  /* and for texts */
	uint64_t since;               /* the event that it was first told of */
	uint64_t life;                /* now */
	struct trace_program program; /* now */
	struct trace_spans *maps;     /* now */
	/* Of this life: the first that there will be at each address. */
	struct trace_spans *coming;
	bool has_coming;
	struct told *told; /* in the order of time */
	size_t nr_told, room_told;
	size_t now;              /* those of this life, or later ones, begin */
	unsigned int nr_objects; /* that stacks of it were the first to be in */
	bool is_full;            /* of this life no more is kept */
};

void trace_lack_add(struct trace_lack *l, int64_t pid)
{
	if (!l->is_some)
		l->first = pid;
	l->has_others |= l->is_some && l->first != pid;
	l->is_some = true;
}

const char *tracemaps_host(struct tracemaps *t, const char *name)
{
	return *name ? ow_intern_add(&t->texts, name) : "";
}

static struct trace_process *get(const struct tracemaps *t, const char *host,
				 int64_t pid)
{
	return trace_list_get(&t->processes, (struct trace_key){ host, pid });
}

static struct trace_process *get_or_add(struct tracemaps *t, const char *host,
					int64_t pid)
{
	struct trace_process *p = get(t, host, pid);

	if (p)
		return p;
	p = trace_list_add(&t->processes, sizeof(*p),
			   (struct trace_key){ host, pid }, NULL);
	if (p)
		p->since = t->nr_events;
	else
		trace_lack_add(&t->memory, pid);
	return p;
}

/* --- mappings --- */

static void drop_spans(struct trace_process *p)
{
	trace_spans_drop(p->maps);
	trace_spans_drop(p->coming);
	p->maps = p->coming = NULL;
	p->has_coming = false;
}

/* What is kept of it would be wrong without what can't be kept. */
static void give_up(struct tracemaps *t, struct trace_process *p)
{
	trace_lack_add(&t->memory, p->record.key.id);
	drop_spans(p);
	p->is_full = true;
}

static bool make_room(struct trace_process *p)
{
	size_t room = p->room_told + p->room_told / 2 + 8;
	size_t more = (room - p->room_told) * sizeof(*p->told);
	struct told *told;

	if (p->nr_told < p->room_told)
		return true;
	if (!ow_budget_take(&p->own, more))
		return false;
	told = realloc(p->told, room * sizeof(*told));
	if (!told) {
		ow_budget_give(&p->own, more);
		return false;
	}
	p->told = told;
	p->room_told = room;
	return true;
}

static void drop_told(struct trace_process *p)
{
	free(p->told);
	ow_budget_give(&p->own, p->room_told * sizeof(*p->told));
	p->told = NULL;
	p->nr_told = p->room_told = p->now = 0;
}

/* The later half goes: what there was before the trace is told of early. */
static void halve_told(struct trace_process *p)
{
	size_t room = p->room_told / 2;
	struct told *told;

	p->is_full = true;
	told = room ? realloc(p->told, room * sizeof(*told)) : NULL;
	if (!told)
		return;
	ow_budget_give(&p->own, (p->room_told - room) * sizeof(*told));
	p->told = told;
	p->nr_told = p->room_told = room;
}

static void note(struct tracemaps *t, struct trace_process *p,
		 const struct trace_span *s)
{
	if (make_room(p)) {
		p->told[p->nr_told++] =
			(struct told){ p->life, p->program, *s };
		return;
	}
	trace_lack_add(&t->memory, p->record.key.id);
	halve_told(p);
}

static void put(struct tracemaps *t, struct trace_process *p,
		const struct trace_span *s)
{
	const struct trace_span *old = trace_spans_find(p->maps, s->start);

	/* All are told of once more when another session begins. */
	if (old && old->start == s->start && old->end == s->end &&
	    old->off == s->off && old->file == s->file &&
	    old->losses == s->losses)
		return;
	if (!trace_spans_put(&p->maps, s, &p->own))
		give_up(t, p);
}

/* The first of all that were told of an address stays, as it comes last. */
static void make_coming(struct tracemaps *t, struct trace_process *p)
{
	size_t end = p->now;

	p->has_coming = true;
	while (end < p->nr_told && p->told[end].life == p->life)
		end++;
	while (end-- > p->now)
		if (!trace_spans_put(&p->coming, &p->told[end].span, &p->own)) {
			give_up(t, p);
			return;
		}
}

static bool is_same(const struct trace_program *a,
		    const struct trace_program *b)
{
	return a->birth == b->birth && a->execs == b->execs;
}

static bool may_be(const struct trace_program *a, const struct trace_program *b)
{
	return !a->birth || !b->birth || is_same(a, b);
}

/*
 * Return true if a span that was told of one program is asked for by the same program.
 * Where events don't tell, it is if there was no loss in between.
 */
static bool is_of(const struct tracemaps *t, const struct trace_span *s,
		  const struct trace_program *told,
		  const struct trace_program *asked)
{
	if (told->birth && asked->birth)
		return is_same(told, asked);
	return s->losses == t->losses && t->losses % 2 == 0;
}

/* The first of this life that will be at that address, if it is of that program. */
static struct trace_span *find_coming(struct tracemaps *t,
				      struct trace_process *p,
				      const struct trace_program *asked,
				      uint64_t addr, bool *is_doubted)
{
	const struct told *next = &p->told[p->now];
	struct trace_span *s;

	if (p->is_full || p->now == p->nr_told || next->life != p->life)
		return NULL;
	if (!p->has_coming)
		make_coming(t, p);
	s = trace_spans_find(p->coming, addr);
	if (!s || (is_of(t, s, &next->program, asked) &&
		   may_be(&next->program, asked->birth ? asked : &p->program)))
		return s;
	*is_doubted = true;
	return NULL;
}

static struct trace_span *find(struct tracemaps *t, struct trace_process *p,
			       const struct trace_program *program,
			       uint64_t addr)
{
	struct trace_span *s = trace_spans_find(p->maps, addr);
	bool is_doubted = s && !is_of(t, s, &p->program, program);

	if (!s || is_doubted)
		s = find_coming(t, p, program, addr, &is_doubted);
	if (!s && is_doubted)
		t->nr_doubted++;
	return s;
}

/* --- files --- */

/* The build-id in hexadecimal, a space and the path; or NULL. */
static const char *file_of(struct tracemaps *t, struct trace_process *p,
			   const struct ctf_event *e)
{
	char text[2 * MAX_BUILD_ID + MAX_PATH + 2];
	size_t nr = e->nr[CTF_BUILD_ID], i;
	const char *file;

	if (nr > MAX_BUILD_ID)
		nr = 0;
	for (i = 0; i < nr; i++)
		snprintf(text + 2 * i, 3, "%02x",
			 (unsigned int)e->lists[CTF_BUILD_ID][i] & 0xff);
	snprintf(text + 2 * nr, MAX_PATH + 2, " %s", e->texts[CTF_PATH]);
	file = ow_intern_add_for(&t->texts, text, &p->text);
	if (!file)
		trace_lack_add(&t->memory, p->record.key.id);
	return file;
}

static unsigned int digit(char c)
{
	return (unsigned int)(c <= '9' ? c - '0' : c - 'a' + 10);
}

static unsigned int object_of(struct tracemaps *t, struct trace_process *p,
			      struct trace_span *s)
{
	uint8_t id[MAX_BUILD_ID];
	const char *at = s->file;
	size_t size = 0;

	if (s->object || !s->file)
		return s->object;
	for (; *at != ' '; at += 2)
		id[size++] = (uint8_t)(digit(at[0]) << 4 | digit(at[1]));
	s->object =
		ow_places_object(t->places, at + 1, id, size, &p->nr_objects);
	if (!s->object)
		trace_lack_add(&t->objects, p->record.key.id);
	return s->object;
}

struct trace_place tracemaps_find(struct tracemaps *t, const char *host,
				  int64_t pid,
				  const struct trace_program *program,
				  uint64_t addr)
{
	struct trace_process *p = get(t, host, pid);
	struct trace_span *s = p ? find(t, p, program, addr) : NULL;
	unsigned int object = s ? object_of(t, p, s) : 0;

	if (!object)
		return (struct trace_place){ .off = addr };
	return (struct trace_place){ object, addr - s->start + s->off };
}

/* --- events --- */

static void begin_life(struct tracemaps *t, struct trace_process *p)
{
	drop_spans(p);
	p->is_full = t->is_first_reading && p->is_full;
	/* In a second reading, there may be lives before what was told of. */
	if (t->nr_events <= p->since)
		return;
	p->life = t->nr_events;
	while (p->now < p->nr_told && p->told[p->now].life < p->life)
		p->now++;
}

static void begin_program(struct tracemaps *t, struct trace_process *p,
			  struct trace_program program)
{
	begin_life(t, p);
	p->program = program;
}

/* An event tells of a process: what told that another program began may be lost. */
static void meet(struct tracemaps *t, struct trace_process *p,
		 struct trace_program program)
{
	if (program.birth && !is_same(&program, &p->program)) {
		if (p->program.birth)
			begin_life(t, p);
		p->program = program;
	}
}

struct trace_program trace_program_of(const struct ctf_event *e)
{
	struct trace_program ret = { 0 };

	if (ctf_has(e, CTF_BIRTH) && ctf_has(e, CTF_EXECS)) {
		ret.birth = (uint64_t)e->numbers[CTF_BIRTH];
		ret.execs = (uint64_t)e->numbers[CTF_EXECS];
	}
	return ret;
}

/* At a fork, the child's program is its parent's. */
static struct trace_program parents_program(const struct ctf_event *e)
{
	struct trace_program ret = trace_program_of(e);

	ret.birth = ctf_has(e, CTF_PARENT_BIRTH) ?
			    (uint64_t)e->numbers[CTF_PARENT_BIRTH] :
			    0;
	return ret;
}

static void take_map(struct tracemaps *t, const char *host,
		     const struct ctf_event *e)
{
	struct trace_span s = {
		.start = (uint64_t)e->numbers[CTF_START],
		.end = (uint64_t)e->numbers[CTF_END],
		.off = (uint64_t)e->numbers[CTF_OFFSET],
		.losses = t->losses,
	};
	struct trace_process *p;

	if (!ctf_has(e, CTF_START) || !ctf_has(e, CTF_END) ||
	    !ctf_has(e, CTF_OFFSET) || !e->texts[CTF_PATH] || s.end <= s.start)
		return;
	p = get_or_add(t, host, e->numbers[CTF_SUBJECT_PID]);
	if (!p)
		return;
	meet(t, p, trace_program_of(e));
	if (p->is_full)
		return;
	s.file = file_of(t, p, e);
	if (t->is_first_reading)
		note(t, p, &s);
	else
		put(t, p, &s);
}

/* The child's number may have been another process' before. */
static void take_fork(struct tracemaps *t, const char *host,
		      const struct ctf_event *e)
{
	int64_t child = e->numbers[CTF_SUBJECT_PID];
	struct trace_process *from = get(t, host, e->numbers[CTF_PARENT_PID]);
	struct trace_process *to;
	struct trace_spans *maps;

	if (from)
		meet(t, from, parents_program(e));
	to = from && from->maps ? get_or_add(t, host, child) :
				  get(t, host, child);
	if (!to)
		return;
	maps = from ? trace_spans_share(from->maps) : NULL;
	begin_program(t, to, trace_program_of(e));
	to->maps = maps;
}

void tracemaps_take(struct tracemaps *t, const struct ctf_event *e)
{
	bool is_map = strcmp(e->name, "kunwind_map") == 0;
	bool is_exec = strcmp(e->name, "kunwind_exec") == 0;
	bool is_fork = strcmp(e->name, "kunwind_fork") == 0;
	struct trace_process *p;
	const char *host;

	if (t->losses % 2 && e->time > t->lost_until)
		t->losses++;
	if (!ctf_has(e, CTF_SUBJECT_PID) || (!is_map && !is_exec && !is_fork))
		return;
	t->nr_events++;
	host = tracemaps_host(t, e->host);
	if (!host) {
		trace_lack_add(&t->memory, e->numbers[CTF_SUBJECT_PID]);
	} else if (is_map) {
		take_map(t, host, e);
	} else if (is_fork && ctf_has(e, CTF_PARENT_PID)) {
		take_fork(t, host, e);
	} else if (is_exec) {
		p = get(t, host, e->numbers[CTF_SUBJECT_PID]);
		if (p)
			begin_program(t, p, trace_program_of(e));
	}
}

void tracemaps_lose(struct tracemaps *t, uint64_t end)
{
	t->losses += t->losses % 2 ? 2 : 1;
	if (end > t->lost_until)
		t->lost_until = end;
}

static void rewind_process(void *record)
{
	struct trace_process *p = record;

	p->life = p->now = 0;
	p->program = (struct trace_program){ 0 };
	p->is_full = false;
}

void tracemaps_again(struct tracemaps *t)
{
	t->is_first_reading = false;
	t->nr_events = 0;
	t->losses = 0;
	t->lost_until = 0;
	trace_list_each(&t->processes, rewind_process);
}

/* Others may share what it has paid for. */
static void drop_all(void *record)
{
	struct trace_process *p = record;

	drop_spans(p);
	drop_told(p);
}

void tracemaps_deinit(struct tracemaps *t)
{
	trace_list_each(&t->processes, drop_all);
	trace_list_deinit(&t->processes);
	ow_intern_deinit(&t->texts);
	ow_places_destroy(t->places);
	*t = (struct tracemaps){ 0 };
}
