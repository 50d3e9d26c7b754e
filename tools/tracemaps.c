// SPDX-License-Identifier: BSD-2-Clause
#include "tracemaps.h"

#include <stdlib.h>
#include <string.h>

#include "grow.h"

struct mapping {
	uint64_t since, start, end, off;
	unsigned int object;
	unsigned int life; /* which of the process' programs */
};

/* A process, by its number: what it executed one after another are its lives. */
struct trace_process {
	struct trace_key key;
	struct mapping *maps; /* in the order of time */
	size_t nr, room;
	uint64_t *begins; /* of lives from 1 on */
	size_t nr_begins, room_begins;
};

unsigned int tracemaps_host(struct tracemaps *t, const char *name)
{
	char **more;
	size_t i;

	for (i = 0; i < t->nr_hosts; i++)
		if (strcmp(t->hosts[i], name) == 0)
			return (unsigned int)i;
	more = realloc(t->hosts, (i + 1) * sizeof(*more));
	if (more)
		t->hosts = more;
	if (!more || !(t->hosts[i] = strdup(name))) {
		t->failed = true;
		return 0;
	}
	return (unsigned int)t->nr_hosts++;
}

static struct trace_process *get(const struct tracemaps *t, unsigned int host,
				 int64_t pid)
{
	return trace_list_get(&t->processes, sizeof(struct trace_process),
			      (struct trace_key){ host, pid });
}

static struct trace_process *get_or_add(struct tracemaps *t, unsigned int host,
					int64_t pid)
{
	struct trace_process *p = trace_list_add(
		&t->processes, sizeof(*p), (struct trace_key){ host, pid });

	if (!p)
		t->failed = true;
	return p;
}

static unsigned int life_at(const struct trace_process *p, uint64_t time)
{
	unsigned int life = 0;

	while (life < p->nr_begins && p->begins[life] <= time)
		life++;
	return life;
}

/*
 * The newest mapping of addr that there was by then; or, as what was there
 * before the trace is told of a little later, the first one after.
 */
static const struct mapping *find(const struct trace_process *p, uint64_t time,
				  uint64_t addr)
{
	unsigned int life = life_at(p, time);
	const struct mapping *m, *later = NULL;
	size_t i;

	for (i = p->nr; i-- > 0;) {
		m = &p->maps[i];
		if (m->life != life || addr < m->start || addr >= m->end)
			continue;
		if (m->since <= time)
			return m;
		later = m;
	}
	return later;
}

static void add(struct tracemaps *t, struct trace_process *p,
		const struct mapping *m)
{
	const struct mapping *old = find(p, m->since, m->start);

	/* All are told of once more when another session begins. */
	if (old && old->start == m->start && old->end == m->end &&
	    old->off == m->off && old->object == m->object)
		return;
	if (ow_grow(&p->maps, &p->room, p->nr + 1, sizeof(*m)))
		p->maps[p->nr++] = *m;
	else
		t->failed = true;
}

static unsigned int begin_life(struct tracemaps *t, struct trace_process *p,
			       uint64_t time)
{
	if (ow_grow(&p->begins, &p->room_begins, p->nr_begins + 1,
		    sizeof(time)))
		p->begins[p->nr_begins++] = time;
	else
		t->failed = true;
	return (unsigned int)p->nr_begins;
}

static void take_map(struct tracemaps *t, struct trace_process *p,
		     const struct ctf_event *e)
{
	uint8_t id[CTF_MAX_LIST];
	struct mapping m = {
		.since = e->time,
		.start = (uint64_t)e->numbers[CTF_START],
		.end = (uint64_t)e->numbers[CTF_END],
		.off = (uint64_t)e->numbers[CTF_OFFSET],
	};
	size_t i;

	if (!ctf_has(e, CTF_START) || !ctf_has(e, CTF_END) ||
	    !ctf_has(e, CTF_OFFSET) || !e->texts[CTF_PATH] || m.end <= m.start)
		return;
	for (i = 0; i < e->nr[CTF_BUILD_ID]; i++)
		id[i] = (uint8_t)e->lists[CTF_BUILD_ID][i];
	m.object = ow_places_object(t->places, e->texts[CTF_PATH], id,
				    e->nr[CTF_BUILD_ID]);
	m.life = life_at(p, e->time);
	add(t, p, &m);
}

/* The child's number may have been another process' before. */
static void take_fork(struct tracemaps *t, unsigned int host, int64_t parent,
		      int64_t child, uint64_t time)
{
	const struct trace_process *from;
	struct trace_process *to = get_or_add(t, host, child);
	unsigned int life, of;
	struct mapping m;
	size_t i;

	if (!to)
		return;
	life = begin_life(t, to, time);
	from = get(t, host, parent);
	if (!from || from == to)
		return;
	of = life_at(from, time);
	for (i = 0; i < from->nr; i++) {
		if (from->maps[i].life != of)
			continue;
		m = from->maps[i];
		m.since = time;
		m.life = life;
		add(t, to, &m);
	}
}

void tracemaps_take(struct tracemaps *t, const struct ctf_event *e)
{
	bool is_map = strcmp(e->name, "kunwind_map") == 0;
	bool is_exec = strcmp(e->name, "kunwind_exec") == 0;
	bool is_fork = strcmp(e->name, "kunwind_fork") == 0;
	int64_t pid = e->numbers[CTF_SUBJECT_PID];
	struct trace_process *p;
	unsigned int host;

	if (!ctf_has(e, CTF_SUBJECT_PID) || (!is_map && !is_exec && !is_fork))
		return;
	host = tracemaps_host(t, e->host);
	if (is_fork && ctf_has(e, CTF_PARENT_PID))
		take_fork(t, host, e->numbers[CTF_PARENT_PID], pid, e->time);
	p = is_fork ? NULL : get_or_add(t, host, pid);
	if (p && is_map)
		take_map(t, p, e);
	else if (p)
		begin_life(t, p, e->time);
}

struct trace_place tracemaps_find(const struct tracemaps *t, unsigned int host,
				  int64_t pid, uint64_t time, uint64_t addr)
{
	const struct trace_process *p = get(t, host, pid);
	const struct mapping *m = p ? find(p, time, addr) : NULL;

	if (!m)
		return (struct trace_place){ .off = addr };
	return (struct trace_place){ m->object, addr - m->start + m->off };
}

void tracemaps_deinit(struct tracemaps *t)
{
	struct trace_process *all = t->processes.all;
	size_t i;

	for (i = 0; i < t->processes.nr; i++) {
		free(all[i].maps);
		free(all[i].begins);
	}
	for (i = 0; i < t->nr_hosts; i++)
		free(t->hosts[i]);
	free(t->hosts);
	free(all);
	ow_places_destroy(t->places);
	*t = (struct tracemaps){ 0 };
}
