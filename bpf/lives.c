// SPDX-License-Identifier: BSD-2-Clause
#include "lives.h"

#include <string.h>
#include <sys/sysmacros.h>

#include "clocks.h"

#define MUCH (1U << 15) /* bytes of a ring: they are to be read */

/* perf_event_open(2), PERF_RECORD_MMAP2; the file's name follows. */
struct mmap2 {
	struct perf_event_header header;
	uint32_t pid, tid;
	uint64_t start, size, off;
	uint32_t major, minor;
	uint64_t inode, generation;
	uint32_t prot, flags;
};

static bool read_mapping(const struct perf_event_header *h, struct ow_life *e)
{
	const struct mmap2 *m = (const void *)h;
	size_t most = h->size - sizeof(uint64_t); /* the time is last */
	const char *name = (const char *)(m + 1);

	if (most <= sizeof(*m) || !memchr(name, '\0', most - sizeof(*m)))
		return false;
	e->map = (struct ow_mapping){
		.start = m->start,
		.end = m->start + m->size,
		.off = m->off,
		.dev = makedev(m->major, m->minor),
		.inode = m->inode,
		.executable = true,
		/* Memory of no file is called so; others are "[vdso]", "/path". */
		.path = strcmp(name, "//anon") == 0 ? "" : name,
	};
	return true;
}

bool ow_life_read(const struct perf_event_header *h, struct ow_life *ret)
{
	const uint32_t *words = (const uint32_t *)(h + 1);

	if (h->size < sizeof(*h) + 16)
		return false;
	*ret = (struct ow_life){ .type = h->type,
				 .pid = (pid_t)words[0],
				 .time = ow_perfrings_time(h) };
	if (ret->pid <= 0)
		return false;
	switch (h->type) {
	case PERF_RECORD_MMAP2: return read_mapping(h, ret);
	case PERF_RECORD_COMM: return h->misc & PERF_RECORD_MISC_COMM_EXEC;
	case PERF_RECORD_FORK: /* pid, ppid, ... */
		ret->parent = (pid_t)words[1];
		return words[0] != words[1]; /* or it is a thread */
	case PERF_RECORD_EXIT:               /* pid, ppid, tid, ... */
		return words[0] == words[2];
	}
	return false;
}

pid_t ow_life_source(const struct ow_life *e)
{
	return e->type == PERF_RECORD_FORK ? e->parent : e->pid;
}

bool ow_life_ends_another(const struct ow_life *e, struct ow_images *images)
{
	return e->type == PERF_RECORD_FORK &&
	       ow_images_end(images, e->pid, e->time);
}

bool ow_life_apply(const struct ow_life *e, struct ow_images *images)
{
	switch (e->type) {
	case PERF_RECORD_MMAP2:
		return ow_images_map(images, e->pid, e->time, &e->map);
	case PERF_RECORD_COMM: return ow_images_exec(images, e->pid, e->time);
	case PERF_RECORD_FORK:
		return ow_images_fork(images, e->parent, e->pid, e->time);
	case PERF_RECORD_EXIT: return ow_images_exit(images, e->pid, e->time);
	}
	return false;
}

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

void ow_lives_close(struct ow_lives *l)
{
	ow_perfrings_close(&l->rings);
}

/* To whom events are applied, and who hears of that. */
struct applying {
	struct ow_images *images;
	bool (*is_wanted)(void *arg, pid_t pid, uint64_t time);
	void (*changed)(void *arg, pid_t pid);
	void *arg;
	bool lost;
	uint64_t nr_lost;
};

static void take(void *arg, const struct perf_event_header *h)
{
	struct applying *a = arg;
	struct ow_life e;

	if (h->type == PERF_RECORD_LOST) {
		a->lost = true;
		a->nr_lost += ow_perfrings_lost(h);
	}
	if (!ow_life_read(h, &e))
		return;
	if (ow_life_ends_another(&e, a->images))
		a->changed(a->arg, e.pid);
	if (a->is_wanted(a->arg, ow_life_source(&e), e.time) &&
	    ow_life_apply(&e, a->images))
		a->changed(a->arg, e.pid);
}

bool ow_lives_apply(struct ow_lives *l, struct ow_images *images,
		    bool (*is_wanted)(void *arg, pid_t pid, uint64_t time),
		    void (*changed)(void *arg, pid_t pid), void *arg)
{
	struct applying a = { images, is_wanted, changed, arg, false, 0 };

	ow_perfrings_read(&l->rings, take, &a);
	l->nr_lost += a.nr_lost;
	return !a.lost;
}
