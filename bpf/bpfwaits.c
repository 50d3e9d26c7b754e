// SPDX-License-Identifier: BSD-2-Clause
#include "bpfwaits.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bpfbatch.h"
#include "bpfevents.h"
#include "bpfknown.h"
#include "bpfload.h"
#include "error.h"
#include "hash.h"
#include "monotonic.h"
#include "sampler.skel.h"

#define READ 16384 /* bytes of an iterator's in one go */
#define WORK_NS \
	4000000000 /* for stacks of who waits already, of all together */
#define EACH_NS   50000000 /* between two times that events are taken meanwhile */
#define EVENTS_NS 20000000 /* how long they are taken then */
#define OWNERS    4096     /* processes and users, by their hashes */
#define PROCESS   ((uint64_t)1 << 32)
#define USER      ((uint64_t)2 << 32)

/*
 * Who waits already.  There may be many threads, of deep stacks: no process, and no
 * user but root, has more than half of the time that others leave over.
 */
struct listing {
	struct ow_bpf_copy copy;
	struct ow_livemem live;
	uint64_t most;              /* ns for all, */
	uint64_t spent, by[OWNERS]; /* of which so many are spent */
	uint64_t taken; /* CLOCK_MONOTONIC: events were, the last time */
};

/* Does it wait still for what it did when it was found? */
static bool still_waits(const struct ow_bpfengine *e,
			const struct ow_bpf_stack *s)
{
	struct ow_bpf_wait wait;

	return !bpf_map_lookup_elem(bpf_map__fd(e->skel->maps.waits), &s->tid,
				    &wait) &&
	       wait.since && memcmp(&wait.key, &s->key, sizeof(s->key)) == 0;
}

static uint64_t *spent_by(struct listing *l, uint64_t owner)
{
	return &l->by[ow_hash_word(owner) % OWNERS];
}

static bool has_time(struct listing *l, uint64_t owner)
{
	uint64_t own = *spent_by(l, owner), others = l->spent - own;

	return others < l->most && own <= (l->most - others) / 2;
}

/* Stacks are not to take all of a short recording. */
static uint64_t most_work(const struct ow_recorder *r)
{
	uint64_t half = r->options.duration_ns / 2;

	return half && half < WORK_NS ? half : WORK_NS;
}

/* Return true if there is time to walk a stack of a process. */
static bool may_walk(struct listing *l, const struct ow_bpf_stack *s)
{
	return has_time(l, PROCESS | s->key.pid) &&
	       (s->uid == 0 || has_time(l, USER | s->uid));
}

static void spend(struct listing *l, const struct ow_bpf_stack *s, uint64_t ns)
{
	l->spent += ns;
	*spent_by(l, PROCESS | s->key.pid) += ns;
	if (s->uid)
		*spent_by(l, USER | s->uid) += ns;
}

static struct ow_bpfwalked walk(struct ow_recorder *r, struct ow_bpf_copy *c)
{
	c->nr_pages = 0;
	return ow_bpfevents_walk(r, c);
}

/*
 * Only where it is; not even that after much more time than there was for stacks, as
 * processes may have to be looked at for it.
 */
static struct ow_bpfwalked walk_bare(struct ow_recorder *r, struct listing *l)
{
	if (l->copy.head.key.end == OW_END_WANT && l->spent >= 2 * l->most)
		return (struct ow_bpfwalked){ .end = OW_END_COSTLY };
	return walk(r, &l->copy);
}

/* Walk its stack as it stands there, in pieces as they are asked for. */
static struct ow_bpfwalked walk_there(struct ow_recorder *r, struct listing *l,
				      bool may_walk)
{
	struct ow_copywalk *copies = &((struct ow_bpfengine *)r->priv)->copies;
	struct ow_bpf_copy *c = &l->copy;
	struct ow_bpfwalked w;

	if (c->head.key.end != OW_END_WANT) /* a thread of the kernel's */
		return walk(r, c);
	if (!may_walk) {
		r->stats.unwalked++;
		return walk_bare(r, l);
	}
	ow_processmem_open(&l->live.mem, (pid_t)c->head.key.pid, OW_READING_VM);
	l->live.size = 0;
	copies->live = &l->live;
	w = walk(r, c);
	copies->live = NULL;
	ow_processmem_close(&l->live.mem);
	return w;
}

/*
 * One that waits: if it ran meanwhile, only where it was is certain.  What its process has
 * mapped may have to be looked at, and to be told to the kernel: that is of its time, too.
 */
static void take_waiting(struct ow_recorder *r,
			 const struct ow_bpf_waiting *from, struct listing *l)
{
	struct ow_bpfengine *e = r->priv;
	struct ow_bpf_copy *c = &l->copy;
	uint64_t since = ow_now_ns();
	struct ow_bpfwalked w;
	bool has_time;

	if (from->head.nr_kernel > OW_BPF_KERNEL)
		return;
	c->head = from->head;
	c->time = from->time;
	c->word = from->word;
	memcpy(c->regs, from->regs, sizeof(c->regs));
	memcpy(c->kernel, from->kernel, sizeof(c->kernel));
	e->waiting++;
	r->stats.bytes_out += sizeof(*from);
	has_time = may_walk(l, &c->head);
	e->is_pressed = !has_time;
	w = walk_there(r, l, has_time);
	if (!still_waits(e, &from->head))
		w = walk_bare(r, l);
	e->is_pressed = false;
	ow_bpfevents_keep(r, c, &w);
	spend(l, &c->head, ow_now_ns() - since);
}

/* What comes meanwhile is lost if it waits for too long. */
static void take_events(struct ow_recorder *r, struct listing *l)
{
	uint64_t since = ow_now_ns();

	if (since < l->taken + EACH_NS)
		return;
	ow_bpfknown_follow(r);
	ow_bpfevents_take(r, EVENTS_NS);
	l->taken = ow_now_ns();
	l->spent += l->taken - since;
}

/* All that an iterator writes, unless recording is to end before that. */
static int take_all(struct ow_recorder *r, int fd)
{
	struct listing *l = calloc(1, sizeof(*l));
	char *buf = malloc(READ + sizeof(struct ow_bpf_waiting));
	size_t have = 0, at;
	ssize_t n = -1;

	if (l) {
		l->most = most_work(r);
		l->taken = ow_now_ns();
	}
	while (l && buf) {
		n = read(fd, buf + have, READ);
		if (n < 0 && errno == EAGAIN)
			continue;
		if (n <= 0)
			break;
		have += (size_t)n;
		for (at = 0; have - at >= sizeof(struct ow_bpf_waiting) &&
			     !ow_recorder_must_end(r);
		     at += sizeof(struct ow_bpf_waiting)) {
			take_waiting(r, (const void *)(buf + at), l);
			take_events(r, l);
		}
		if (ow_recorder_must_end(r)) {
			r->stats.is_listing_cut = true;
			n = 0;
			break;
		}
		have -= at;
		memmove(buf, buf + at, have);
	}
	free(l);
	free(buf);
	return n ? -1 : 0;
}

int ow_bpfwaits_begin(struct ow_recorder *r, struct ow_error *err)
{
	struct ow_bpfengine *e = r->priv;
	struct bpf_link *link;
	int fd, failed = -1;

	if (!e->skel->bss->listing) {
		r->stats.unlisted = r->options.events & OW_RECORD_OFF_CPU &&
				    !r->options.children;
		return 0;
	}
	e->skel->bss->began = ow_now_ns();
	link = bpf_program__attach_iter(e->skel->progs.on_task, NULL);
	fd = link ? bpf_iter_create(bpf_link__fd(link)) : -1;
	if (fd >= 0) {
		failed = take_all(r, fd);
		close(fd);
	}
	bpf_link__destroy(link);
	e->skel->bss->listing = false;
	return failed ? ow_bpfload_refuse(err, "list who waits") : 0;
}

static void count_open(struct ow_recorder *r, const struct ow_bpf_wait *wait,
		       uint64_t end)
{
	struct ow_bpfengine *e = r->priv;
	struct ow_stored *s;

	if (!wait->since || end < wait->since ||
	    end - wait->since < e->skel->rodata->shortest_wait)
		return;
	s = ow_samplestore_find(&r->store, &wait->key);
	if (!s)
		return;
	s->is.count++;
	s->is.value += end - wait->since;
}

static void keep(void *arg, const void *tids, const void *values, uint32_t nr)
{
	const struct ow_bpf_wait *wait = values;
	struct ow_recorder *r = arg;
	struct ow_stored *s;
	uint32_t i;

	(void)tids;
	for (i = 0; i < nr; i++) {
		s = ow_samplestore_find(&r->store, &wait[i].key);
		if (s)
			ow_samplestore_use(&r->store, s);
	}
}

bool ow_bpfwaits_keep(struct ow_recorder *r)
{
	struct ow_bpfengine *e = r->priv;

	return !(r->options.events & OW_RECORD_OFF_CPU) ||
	       !ow_bpfbatch_visit(bpf_map__fd(e->skel->maps.waits),
				  sizeof(uint32_t), sizeof(struct ow_bpf_wait),
				  keep, r);
}

struct ending {
	struct ow_recorder *recorder;
	uint64_t end;
};

static void take_open(void *arg, const void *tids, const void *values,
		      uint32_t nr)
{
	const struct ow_bpf_wait *wait = values;
	const struct ending *e = arg;
	uint32_t i;

	(void)tids;
	e->recorder->stats.bytes_out += nr * (sizeof(uint32_t) + sizeof(*wait));
	for (i = 0; i < nr; i++)
		count_open(e->recorder, &wait[i], e->end);
}

void ow_bpfwaits_end(struct ow_recorder *r, uint64_t end)
{
	struct ow_bpfengine *e = r->priv;
	struct ending ending = { r, end };

	ow_bpfbatch_drain(bpf_map__fd(e->skel->maps.waits), sizeof(uint32_t),
			  sizeof(struct ow_bpf_wait), take_open, &ending);
}
