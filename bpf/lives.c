// SPDX-License-Identifier: BSD-2-Clause
#include "lives.h"

#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>

#include "clocks.h"
#include "monotonic.h"
#include "recorder.h"

#define MUCH       (1U << 15) /* bytes of a ring: they are to be read */
#define MOST_KEPT  (1U << 13) /* events' room */
#define MOST_PATHS (1U << 16) /* bytes, of events that are done with */

struct ow_life {
	uint64_t time;
	uint32_t type; /* PERF_RECORD_... */
	pid_t pid, parent;
	struct ow_mapping map;
	size_t path; /* of map, where in paths */
};

/* perf_event_open(2), PERF_RECORD_MMAP2; the file's name follows. */
struct mmap2 {
	struct perf_event_header header;
	uint32_t pid, tid;
	uint64_t start, size, off;
	uint32_t major, minor;
	uint64_t inode, generation;
	uint32_t prot, flags;
};

int ow_lives_open(struct ow_lives *l, bool lazily, struct ow_error *err)
{
	struct perf_event_attr attr;
	int failed;

	ow_clocks_mappings(&attr);
	if (lazily)
		attr.wakeup_watermark = MUCH;
	failed = ow_perfrings_add(&l->rings, &attr, -1, err);
	if (!failed)
		ow_perfrings_enable(&l->rings, true);
	return failed;
}

/* Those of the few events that are left, and no others. */
static void keep_paths(struct ow_lives *l)
{
	struct ow_bytebuf kept = { 0 };
	struct ow_life *e;
	size_t at;

	for (e = l->events; e < l->events + l->nr; e++) {
		if (e->type != PERF_RECORD_MMAP2 || e->pid == 0)
			continue;
		at = kept.size;
		ow_bytebuf_add_text(&kept,
				    (const char *)l->paths.bytes + e->path);
		e->path = at;
		e->pid = kept.failed ? 0 : e->pid;
	}
	kept.failed |= l->paths.failed;
	ow_bytebuf_deinit(&l->paths);
	l->paths = kept;
}

/* The first ones are done with. */
static void forget(struct ow_lives *l, size_t nr)
{
	if (nr < l->nr)
		memmove(l->events, l->events + nr,
			(l->nr - nr) * sizeof(*l->events));
	l->nr -= nr;
	if (l->nr == 0)
		l->paths.size = 0;
	else if (l->paths.size > MOST_PATHS)
		keep_paths(l);
	/* What a burst took is given back. */
	if (l->nr == 0 && l->room > MOST_KEPT) {
		free(l->events);
		ow_bytebuf_deinit(&l->paths);
		l->events = NULL;
		l->room = 0;
	}
}

void ow_lives_close(struct ow_lives *l)
{
	free(l->events);
	ow_bytebuf_deinit(&l->paths);
	ow_perfrings_close(&l->rings);
}

static void take_mapping(struct ow_lives *l, struct ow_life *e,
			 const struct perf_event_header *h)
{
	const struct mmap2 *m = (const void *)h;
	size_t most = h->size - sizeof(uint64_t); /* the time is last */
	const char *name = (const char *)(m + 1);

	if (most <= sizeof(*m) || !memchr(name, '\0', most - sizeof(*m))) {
		e->pid = 0;
		return;
	}
	/* Memory of no file is called so; others are "[vdso]", "/path". */
	e->path = l->paths.size;
	ow_bytebuf_add_text(&l->paths, strcmp(name, "//anon") == 0 ? "" : name);
	if (l->paths.failed) {
		e->pid = 0;
		return;
	}
	e->map = (struct ow_mapping){
		.start = m->start,
		.end = m->start + m->size,
		.off = m->off,
		.dev = makedev(m->major, m->minor),
		.inode = m->inode,
		.executable = true,
	};
}

static void take(void *arg, const struct perf_event_header *h)
{
	const uint32_t *words = (const uint32_t *)(h + 1);
	struct ow_lives *l = arg;
	struct ow_life *e, *more;

	l->lost |= h->type == PERF_RECORD_LOST;
	if (h->size < sizeof(*h) + 16 ||
	    (h->type == PERF_RECORD_COMM &&
	     !(h->misc & PERF_RECORD_MISC_COMM_EXEC)))
		return;
	if (l->nr == l->room) {
		more = realloc(l->events, (2 * l->room + 256) * sizeof(*more));
		l->lost |= !more;
		if (!more)
			return;
		l->events = more;
		l->room = 2 * l->room + 256;
	}
	e = &l->events[l->nr];
	*e = (struct ow_life){ .type = h->type, .pid = (pid_t)words[0] };
	memcpy(&e->time, (const char *)h + h->size - 8, 8);
	switch (h->type) {
	case PERF_RECORD_MMAP2: take_mapping(l, e, h); break;
	case PERF_RECORD_FORK: /* pid, ppid, ... */
		e->parent = (pid_t)words[1];
		e->pid = words[0] == words[1] ? 0 : e->pid; /* a thread */
		break;
	case PERF_RECORD_EXIT: /* pid, ppid, tid, ... */
		e->pid = words[0] == words[2] ? e->pid : 0;
		break;
	case PERF_RECORD_COMM: break;
	default: return;
	}
	l->nr++;
}

static int order(const void *a, const void *b)
{
	const struct ow_life *x = a, *y = b;

	return (x->time > y->time) - (x->time < y->time);
}

static bool apply(const struct ow_lives *l, struct ow_life *e,
		  struct ow_images *images)
{
	switch (e->type) {
	case PERF_RECORD_MMAP2:
		e->map.path = (const char *)l->paths.bytes + e->path;
		return ow_images_map(images, e->pid, e->time, &e->map);
	case PERF_RECORD_COMM: return ow_images_exec(images, e->pid, e->time);
	case PERF_RECORD_FORK:
		return ow_images_fork(images, e->parent, e->pid, e->time);
	case PERF_RECORD_EXIT: return ow_images_exit(images, e->pid, e->time);
	}
	return false;
}

bool ow_lives_apply(struct ow_lives *l, struct ow_images *images,
		    bool (*is_wanted)(void *arg, pid_t pid),
		    void (*changed)(void *arg, pid_t pid), void *arg)
{
	struct ow_life *e;
	bool lost;
	uint64_t until;
	size_t i;

	/* Rings are read one after the other, and of a process one ring may
	   have had something before another one had what came later: that is
	   for the next time. */
	ow_perfrings_read(&l->rings, take, l);
	until = ow_now_ns();
	ow_perfrings_read(&l->rings, take, l);
	if (l->nr)
		qsort(l->events, l->nr, sizeof(*l->events), order);
	for (i = 0; i < l->nr && l->events[i].time <= until; i++) {
		e = &l->events[i];
		if (e->pid > 0 &&
		    is_wanted(arg, e->type == PERF_RECORD_FORK ? e->parent :
								 e->pid) &&
		    apply(l, e, images))
			changed(arg, e->pid);
	}
	forget(l, i);
	lost = l->lost || l->paths.failed;
	l->lost = l->paths.failed = false;
	return !lost;
}
