// SPDX-License-Identifier: BSD-2-Clause
#include "perfsampling.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clocks.h"
#include "error.h"
#include "grow.h"
#include "imagekin.h"
#include "lives.h"
#include "monotonic.h"
#include "procfs.h"

#define CHECKS_NS      50000000   /* for looks at processes, of a round, */
#define LAST_CHECKS_NS 1000000000 /* and at the end */

int ow_perfsampling_open(struct ow_recorder *r, size_t size, const char *name,
			 struct ow_error *err)
{
	struct ow_perfsampling *p;

	if (r->options.events != OW_RECORD_CPU)
		return ow_fail(err, OW_CODE_UNSUPPORTED,
			       "engine %s samples who runs, and nothing else",
			       name);
	p = r->priv = calloc(1, size);
	if (!p)
		return ow_fail(err, OW_CODE_MEMORY, "out of memory");
	ow_clocks_cycles(&p->attr, r->options.frequency);
	r->stats.frequency = (unsigned int)p->attr.sample_freq;
	p->attr.sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_CALLCHAIN;
	p->attr.exclude_callchain_kernel = !r->options.kernel;
	ow_clocks_times(&p->attr);
	p->attr.inherit = !r->options.everyone;
	p->attr.mmap = p->attr.mmap2 = p->attr.task = p->attr.comm =
		!r->options.everyone; /* or another event tells of these */
	p->threads.asked = r->options.asked;
	p->attr.watermark = 1;
	p->attr.wakeup_watermark = 65536;
	return ow_copywalk_init(&p->walks, &r->images, r->options.max_frames,
				err);
}

int ow_perfsampling_begin(struct ow_recorder *r, struct ow_error *err)
{
	struct ow_perfsampling *p = r->priv;

	struct perf_event_attr lives;
	int failed;

	if (!r->options.everyone)
		return 0;
	ow_clocks_mappings(&lives);
	lives.wakeup_watermark = p->attr.wakeup_watermark;
	failed = ow_perfrings_add(&p->rings, &p->attr, -1, err);
	return failed ? failed : ow_perfrings_add_lives(&p->rings, &lives, err);
}

int ow_perfsampling_add(struct ow_recorder *r, pid_t pid, struct ow_error *err)
{
	struct ow_perfsampling *p = r->priv;

	if (!ow_images_find(&r->images, pid, err))
		return -OW_CODE_ABSENT;
	if (!ow_grow(&p->added, &p->room_added, p->nr_added + 1,
		     sizeof(*p->added)))
		return ow_fail(err, OW_CODE_MEMORY, "out of memory");
	p->added[p->nr_added++] = pid;
	return ow_perfthreads_add(&p->threads, pid, err);
}

int ow_perfsampling_settle(struct ow_recorder *r, struct ow_error *err)
{
	struct ow_perfsampling *p = r->priv;

	int failed = ow_perfthreads_open(&p->threads, &p->rings, &p->attr, err);

	r->stats.unrecorded += p->threads.nr_left;
	p->threads.nr_left = 0;
	/* Threads come first, where descriptors are few. */
	if (!failed)
		ow_perfmoves_open(&p->moves, &p->rings, &r->images);
	return failed;
}

int ow_perfsampling_start(struct ow_recorder *r, struct ow_error *err)
{
	struct ow_perfsampling *p = r->priv;
	bool is_new;
	size_t i;

	(void)err;
	r->stats.clock = p->attr.type == PERF_TYPE_HARDWARE ? "cycles" :
							      "cpu-clock";
	ow_perfrings_enable(&p->rings, true);
	/* What they did before that was told by nobody. */
	for (i = 0; i < p->nr_added; i++)
		ow_images_look(&r->images, p->added[i], &is_new);
	return 0;
}

/* Of code segments (Linux, arch/x86/include/asm/segment.h). */
#define USER_CS   0x33
#define USER32_CS 0x23

/*
 * Linux, arch/x86/include/uapi/asm/perf_regs.h: by slot of ow_arch_x86_64, and cs; and
 * by slot of ow_arch_i386.
 */
static const uint8_t perf_regs[OW_PERFSAMPLING_REGS] = {
	0, 3, 2, 1, 4, 5, 6, 7, 16, 17, 18, 19, 20, 21, 22, 23, 8, 10,
};
static const uint8_t perf_regs32[] = { 0, 2, 3, 1, 7, 6, 4, 5, 8 };

#define PERF_CS 10

void ow_perfsampling_ask_regs(struct perf_event_attr *attr)
{
	size_t i;

	attr->sample_type |= PERF_SAMPLE_REGS_USER;
	for (i = 0; i < OW_PERFSAMPLING_REGS; i++)
		attr->sample_regs_user |= 1ULL << perf_regs[i];
}

/* The kernel gives registers in the order of its numbers. */
static uint64_t value_of(const uint64_t *values, uint8_t number)
{
	size_t before = 0, k;

	for (k = 0; k < OW_PERFSAMPLING_REGS; k++)
		before += perf_regs[k] < number;
	return values[before];
}

const struct ow_arch *ow_perfsampling_regs(const uint64_t *values,
					   struct ow_regs *regs)
{
	uint64_t cs = value_of(values, PERF_CS);
	unsigned int i;

	*regs = (struct ow_regs){ 0 };
	if (cs == USER32_CS) {
		for (i = 0; i < OW_ARRAY_SIZE(perf_regs32); i++)
			ow_regs_set(regs, i,
				    (uint32_t)value_of(values, perf_regs32[i]));
		return &ow_arch_i386;
	}
	if (cs != USER_CS)
		return NULL;
	for (i = 0; perf_regs[i] != PERF_CS; i++)
		ow_regs_set(regs, i, value_of(values, perf_regs[i]));
	return &ow_arch_x86_64;
}

/* A call chain is in parts, each behind a mark of whose it is. */
static void split_chain(const uint64_t *chain, size_t nr,
			struct ow_perfsample *s)
{
	uint64_t mark = PERF_CONTEXT_KERNEL;
	size_t i;

	for (i = 0; i < nr; i++) {
		if (chain[i] >= PERF_CONTEXT_MAX) {
			mark = chain[i];
		} else if (mark == PERF_CONTEXT_KERNEL) {
			s->kernel = s->nr_kernel ? s->kernel : chain + i;
			s->nr_kernel++;
		} else if (mark == PERF_CONTEXT_USER) {
			s->user = s->nr_user ? s->user : chain + i;
			s->nr_user++;
		}
	}
}

/* Registers and a piece of the stack, where these were asked for. */
static bool split_copies(const uint64_t *at, const uint64_t *end,
			 struct ow_perfsample *s)
{
	uint64_t size;

	if (end - at < 1)
		return false;
	if (*at++ != PERF_SAMPLE_REGS_ABI_NONE) {
		if (end - at < OW_PERFSAMPLING_REGS)
			return false;
		s->regs = at;
		at += OW_PERFSAMPLING_REGS;
	}
	if (end - at < 1)
		return true;
	size = *at++;
	if (size % 8 || size / 8 >= (uint64_t)(end - at))
		return true;
	s->stack = (const uint8_t *)at;
	s->stack_size = at[size / 8] < size ? at[size / 8] : size;
	return true;
}

static bool split(const struct perf_event_attr *attr,
		  const struct perf_event_header *h, struct ow_perfsample *s)
{
	const uint64_t *at = (const uint64_t *)(h + 1);
	const uint64_t *end = (const uint64_t *)((const char *)h + h->size);
	uint64_t nr;

	if (end - at < 3)
		return false;
	s->is_user = (h->misc & PERF_RECORD_MISC_CPUMODE_MASK) ==
		     PERF_RECORD_MISC_USER;
	s->pid = (uint32_t)*at;
	s->tid = (uint32_t)(*at++ >> 32);
	s->time = *at++;
	nr = *at++;
	if (nr > (uint64_t)(end - at))
		return false;
	split_chain(at, nr, s);
	return !(attr->sample_type & PERF_SAMPLE_REGS_USER) ||
	       split_copies(at + nr, end, s);
}

static struct ow_perfname *name_place(struct ow_perfsampling *p, uint32_t tid)
{
	return &p->names[tid % OW_PERFSAMPLING_NAMES];
}

static void forget_name(struct ow_perfsampling *p, uint32_t tid)
{
	struct ow_perfname *n = name_place(p, tid);

	if (n->tid == tid)
		n->tid = 0;
}

static void note_name(struct ow_perfsampling *p,
		      const struct perf_event_header *h)
{
	const uint32_t *words = (const uint32_t *)(h + 1); /* pid, tid, name */
	const char *comm = (const char *)(words + 2);
	struct ow_perfname *n = name_place(p, words[1]);

	*n = (struct ow_perfname){ .pid = words[0],
				   .tid = words[1],
				   .as_of = ow_perfrings_time(h) };
	memcpy(n->comm, comm, strnlen(comm, sizeof(n->comm) - 1));
}

/* A new thread is called as its parent is. */
static void inherit_name(struct ow_perfsampling *p,
			 const struct perf_event_header *h)
{
	const uint32_t *words = (const uint32_t *)(h + 1);
	struct ow_perfname from = *name_place(p, words[3]);

	if (from.tid != words[3] || from.pid != words[1]) {
		forget_name(p, words[2]);
		return;
	}
	/* What may be wrong doesn't become right by that. */
	if (from.as_of >= p->names_lost_at)
		from.as_of = ow_perfrings_time(h);
	from.pid = words[0];
	from.tid = words[2];
	from.is_inherited = from.is_inherited || words[0] != words[1];
	*name_place(p, from.tid) = from;
}

/*
 * A thread's name is asked for where it isn't known, or another one may not have been
 * told.  One that has ended by then is called as it was, and is asked about once; but a
 * process that has its parent's name has likely executed a program of another one.
 */
static void find_name(struct ow_perfsampling *p, uint32_t pid, uint32_t tid,
		      char *comm)
{
	struct ow_perfname *n = name_place(p, tid);
	struct ow_perfname now = { .pid = pid, .tid = tid };
	bool is_known = n->tid == tid && n->pid == pid;

	if (!is_known || n->as_of < p->names_lost_at) {
		now.as_of = ow_now_ns();
		if (ow_task_name((pid_t)pid, (pid_t)tid, now.comm,
				 sizeof(now.comm)))
			*n = now;
		else if (!is_known || n->is_inherited)
			*n = (struct ow_perfname){ .comm = "?" };
		else
			n->as_of = now.as_of;
	}
	memcpy(comm, n->comm, sizeof(n->comm));
}

/*
 * What was mapped when a sample was taken: records are taken in the order of their
 * times.  What exec has mapped isn't what registers are of.
 */
static struct ow_image *image_of(struct ow_recorder *r,
				 const struct ow_perfsample *s)
{
	struct ow_images *im = &r->images;
	pid_t pid = (pid_t)s->pid;

	if (!s->is_user && ow_images_is_between(im, pid, s->time))
		return ow_images_at(im, pid, ow_images_user(im, pid)->execed);
	if (!(s->regs || s->nr_user) ||
	    !ow_images_is_in_doubt(im, pid, s->time))
		return ow_images_at(im, pid, s->time);
	return ow_images_sampled(im, pid, s->time);
}

static void take_sample(struct ow_recorder *r,
			const struct perf_event_header *h)
{
	struct ow_perfsampling *p = r->priv;
	struct ow_perfsample s = { 0 };
	struct ow_bpf_stack head = { 0 };
	enum ow_end end = OW_END_OUTERMOST;
	struct ow_image *image;

	if (!split(&p->attr, h, &s) || s.pid == 0)
		return;
	image = image_of(r, &s);
	if (!image && (s.regs || s.nr_user)) {
		r->stats.missed++;
		return;
	}
	if (s.nr_kernel > OW_BPF_KERNEL)
		s.nr_kernel = OW_BPF_KERNEL;
	if (s.nr_kernel)
		memcpy(p->walks.packed, s.kernel, 8 * s.nr_kernel);
	head.nr_kernel = (uint16_t)s.nr_kernel;
	head.nr = (uint16_t)p->walk(r, &s, image, s.nr_kernel, &end);
	head.key.end = (uint8_t)end;
	head.key.image = image ? image->id : 0;
	head.key.pid = s.pid;
	head.key.tid = r->options.by_thread ? s.tid : 0;
	head.key.kind = OW_SAMPLE_CPU;
	head.tid = s.tid;
	find_name(p, s.pid, s.tid, head.comm);
	if (ow_recorder_count(r, &head, p->walks.packed, 1))
		r->stats.lost++;
	if (!image)
		return;
	ow_perfchecks_note(&p->checks, r, (pid_t)s.pid);
	ow_perfcounts_note(&p->counts, &r->images, (pid_t)s.pid);
}

/* Follow the lives of processes that are known, and of those that execute a program. */
static void follow(struct ow_recorder *r, const struct perf_event_header *h)
{
	struct ow_life e;

	if (!ow_life_read(h, &e))
		return;
	ow_life_ends_another(&e, &r->images);
	if (e.type == PERF_RECORD_COMM ||
	    ow_images_lives_at(&r->images, ow_life_source(&e), e.time))
		ow_life_apply(&e, &r->images);
}

/* Samples are lost, or what processes did, or both, by what the ring has. */
static void take_loss(struct ow_recorder *r, const struct perf_event_header *h)
{
	struct ow_perfsampling *p = r->priv;
	uint64_t time = ow_perfrings_time(h), nr = ow_perfrings_lost(h);

	if (p->rings.taken->tells_lives) {
		if (p->names_lost_at < time)
			p->names_lost_at = time;
		ow_images_lose(&r->images, time);
	}
	if (p->rings.taken->kind == OW_PERFRING_MAIN)
		r->stats.lost += nr;
	else if (p->rings.taken->kind == OW_PERFRING_LIVES)
		r->stats.lost_lives += nr;
}

static void take_record(void *arg, const struct perf_event_header *h)
{
	struct ow_recorder *r = arg;
	const uint32_t *words = (const uint32_t *)(h + 1);
	struct ow_perfsampling *p = r->priv;

	r->stats.bytes_out += h->size;
	if (p->rings.taken->kind == OW_PERFRING_ASIDE) {
		ow_perfmoves_take(&p->moves, &r->images, h);
		return;
	}
	follow(r, h);
	switch (h->type) {
	case PERF_RECORD_SAMPLE: take_sample(r, h); break;
	case PERF_RECORD_COMM: /* pid, tid, name */
		note_name(r->priv, h);
		break;
	case PERF_RECORD_EXIT: /* pid, ppid, tid, ... */
		forget_name(r->priv, words[2]);
		break;
	case PERF_RECORD_FORK: /* pid, ppid, tid, ptid, ... */
		inherit_name(r->priv, h);
		break;
	case PERF_RECORD_LOST: take_loss(r, h); break;
	}
}

static void read_rings(struct ow_recorder *r)
{
	struct ow_perfsampling *p = r->priv;

	ow_perfmoves_begin(&p->moves);
	ow_perfrings_read(&p->rings, take_record, r);
	ow_imagekin_settle(&r->images);
}

/* Take all that has come, and then see who may have moved code by then. */
static void read_all(struct ow_recorder *r)
{
	struct ow_perfsampling *p = r->priv;

	read_rings(r);
	ow_perfcounts_read(&p->counts, &r->images, true);
}

int ow_perfsampling_wait(struct ow_recorder *r, unsigned int ms,
			 struct ow_error *err)
{
	struct ow_perfsampling *p = r->priv;
	uint64_t end = ow_now_ns() + ms * 1000000ULL, now;

	for (now = ow_now_ns(); now < end; now = ow_now_ns()) {
		if (ow_perfrings_poll(&p->rings, (int)((end - now + 999999) /
						       1000000)) < 0)
			return errno == EINTR ?
				       0 :
				       ow_fail(err, OW_CODE_SYSTEM, "poll");
		read_rings(r);
		ow_perfcounts_read(&p->counts, &r->images, false);
		ow_perfchecks_run(&p->checks, r, false, CHECKS_NS, read_all);
	}
	return 0;
}

void ow_perfsampling_stop(struct ow_recorder *r)
{
	struct ow_perfsampling *p = r->priv;

	ow_perfrings_enable(&p->rings, false);
	read_rings(r);
	ow_perfchecks_run(&p->checks, r, true, LAST_CHECKS_NS, read_all);
	ow_perfmoves_end(&p->moves);
}

int ow_perfsampling_collect(struct ow_recorder *r, struct ow_error *err)
{
	struct ow_perfsampling *p = r->priv;

	(void)err;
	read_rings(r);
	/* What is named now isn't unnamed any more. */
	ow_perfchecks_run(&p->checks, r, true, CHECKS_NS, read_all);
	return 0;
}

void ow_perfsampling_count(struct ow_recorder *r, struct ow_recorder_stats *s)
{
	(void)r;
	(void)s;
}

void ow_perfsampling_close(struct ow_recorder *r)
{
	struct ow_perfsampling *p = r->priv;

	ow_copywalk_deinit(&p->walks);
	ow_perfthreads_deinit(&p->threads);
	ow_perfchecks_deinit(&p->checks);
	ow_perfcounts_deinit(&p->counts);
	ow_perfrings_close(&p->rings);
	free(p->added);
	free(p);
}
