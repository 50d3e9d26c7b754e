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
#include "bpfload.h"
#include "error.h"
#include "monotonic.h"
#include "processmem.h"
#include "sampler.skel.h"

#define READ 16384 /* bytes of an iterator's in one go */

/* Does it wait still for what it did when it was found? */
static bool still_waits(const struct ow_bpfengine *e,
			const struct ow_bpf_stack *s)
{
	struct ow_bpf_wait wait;

	return !bpf_map_lookup_elem(bpf_map__fd(e->skel->maps.waits), &s->tid,
				    &wait) &&
	       wait.since && memcmp(&wait.key, &s->key, sizeof(s->key)) == 0;
}

/*
 * Walk its stack as it stands there: first what is on top, and what is far from
 * that as it is asked for.
 */
static struct ow_bpfwalked walk_there(struct ow_recorder *r,
				      struct ow_bpf_copy *c)
{
	uint64_t sp = c->regs[ow_bpfevents_arch(c)->sp];
	struct ow_copywalk *copies = &((struct ow_bpfengine *)r->priv)->copies;
	struct ow_processmem mem;
	struct ow_bpfwalked w;

	if (c->head.key.end != OW_END_WANT) /* a thread of the kernel's */
		return ow_bpfevents_walk(r, c);
	ow_processmem_open(&mem, (pid_t)c->head.key.pid, OW_READING_VM);
	c->low = sp & ~(uint64_t)(OW_BPF_PAGE - 1);
	c->nr_pages = (uint32_t)(ow_processmem_read_patiently(
					 &mem, &copies->patience, c->low,
					 c->stack, sizeof(c->stack)) /
				 OW_BPF_PAGE);
	copies->live = &mem;
	w = ow_bpfevents_walk(r, c);
	copies->live = NULL;
	ow_processmem_close(&mem);
	return w;
}

/* One that waits: if it ran meanwhile, only where it was is certain. */
static void take_waiting(struct ow_recorder *r,
			 const struct ow_bpf_waiting *from,
			 struct ow_bpf_copy *c)
{
	struct ow_bpfengine *e = r->priv;
	struct ow_bpfwalked w;

	if (from->head.nr_kernel > OW_BPF_KERNEL)
		return;
	c->head = from->head;
	c->time = from->time;
	c->word = from->word;
	memcpy(c->regs, from->regs, sizeof(c->regs));
	memcpy(c->kernel, from->kernel, sizeof(c->kernel));
	e->waiting++;
	r->stats.bytes_out += sizeof(*from);
	w = walk_there(r, c);
	if (!still_waits(e, &from->head)) {
		c->nr_pages = 0;
		w = ow_bpfevents_walk(r, c);
	}
	ow_bpfevents_keep(r, c, &w);
}

/* All that an iterator writes. */
static int take_all(struct ow_recorder *r, int fd)
{
	struct ow_bpf_copy *c = calloc(1, sizeof(*c));
	char *buf = malloc(READ + sizeof(struct ow_bpf_waiting));
	size_t have = 0, at;
	ssize_t n = -1;

	while (c && buf) {
		n = read(fd, buf + have, READ);
		if (n < 0 && errno == EAGAIN)
			continue;
		if (n <= 0)
			break;
		have += (size_t)n;
		for (at = 0; have - at >= sizeof(struct ow_bpf_waiting);
		     at += sizeof(struct ow_bpf_waiting))
			take_waiting(r, (const void *)(buf + at), c);
		have -= at;
		memmove(buf, buf + at, have);
	}
	free(c);
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
			s->unused = 0;
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
