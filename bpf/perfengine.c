// SPDX-License-Identifier: BSD-2-Clause
/*
 * The engine for which the kernel copies registers and a piece of the stack of
 * who runs; walks are ours.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "clocks.h"
#include "copywalk.h"
#include "error.h"
#include "perfring.h"
#include "procfs.h"
#include "recorder.h"

#define MOST_STACK 65528U /* bytes: a record's size has 16 bits */

/* Linux, arch/x86/include/uapi/asm/perf_regs.h, by slot of ow_arch_x86_64. */
static const uint8_t perf_regs[] = { 0,  3,  2,  1,  4,  5,  6,  7, 16,
				     17, 18, 19, 20, 21, 22, 23, 8 };

#define NR_REGS (sizeof(perf_regs))

struct engine {
	struct ow_perfrings rings;
	struct perf_event_attr attr;
	struct ow_copywalk walks;
};

static void set_attr(struct ow_recorder *r, struct perf_event_attr *a)
{
	uint32_t stack = (uint32_t)r->options.stack_size;
	size_t i;

	ow_clocks_cycles(a, r->options.frequency);
	r->stats.frequency = (unsigned int)a->sample_freq;
	a->sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_CALLCHAIN |
			 PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER;
	/* A record has room for other things, too. */
	a->sample_stack_user =
		(stack < MOST_STACK - 8192 ? stack : MOST_STACK - 8192) & ~7U;
	for (i = 0; i < NR_REGS; i++)
		a->sample_regs_user |= 1ULL << perf_regs[i];
	a->exclude_callchain_user = 1;
	a->exclude_callchain_kernel = !r->options.kernel;
	a->mmap = a->mmap2 = a->task = 1;
	a->inherit = !r->options.everyone;
	a->watermark = 1;
	a->wakeup_watermark = 65536;
}

static int engine_open(struct ow_recorder *r, struct ow_error *err)
{
	struct engine *e;

	if (r->options.events != OW_RECORD_CPU)
		return ow_fail(err, OW_CODE_UNSUPPORTED,
			       "engine perf samples who runs, and nothing "
			       "else");
	e = r->priv = calloc(1, sizeof(*e));
	if (!e)
		return ow_fail(err, OW_CODE_MEMORY, "out of memory");
	if (ow_copywalk_init(&e->walks, &r->images, r->options.max_frames, err))
		return -OW_CODE_MEMORY;
	set_attr(r, &e->attr);
	if (!r->options.everyone)
		return 0;
	return ow_perfrings_add(&e->rings, &e->attr, -1, err);
}

static int engine_add(struct ow_recorder *r, pid_t pid, struct ow_error *err)
{
	struct engine *e = r->priv;
	_cleanup_(ow_closep) int dir = -1;
	_cleanup_(ow_freep) pid_t *tids = NULL;
	char path[32];
	size_t nr, i;
	int failed;
	bool is_new;

	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (dir < 0 || !ow_images_look(&r->images, pid, &is_new))
		return ow_fail(err, OW_CODE_ABSENT,
			       "no process %d, or it has no memory", pid);
	failed = ow_tasks_list(dir, &tids, &nr, err);
	for (i = 0; !failed && i < nr; i++)
		failed = ow_perfrings_add(&e->rings, &e->attr, tids[i], err);
	return failed;
}

static int engine_start(struct ow_recorder *r, struct ow_error *err)
{
	struct engine *e = r->priv;

	(void)err;
	r->stats.clock = e->attr.type == PERF_TYPE_HARDWARE ? "cycles" :
							      "cpu-clock";
	ow_perfrings_enable(&e->rings, true);
	return 0;
}

/* A sample's parts, in the order that they stand in. */
struct parts {
	uint32_t pid, tid;
	const uint64_t *chain;
	uint64_t nr_chain;
	const uint64_t *regs; /* NULL: none */
	const uint8_t *stack;
	uint64_t stack_size;
};

static bool split(const struct perf_event_header *h, struct parts *p)
{
	const uint64_t *at = (const uint64_t *)(h + 1);
	const uint64_t *end = (const uint64_t *)((const char *)h + h->size);
	uint64_t size;

	if (end - at < 2)
		return false;
	p->pid = (uint32_t)*at;
	p->tid = (uint32_t)(*at++ >> 32);
	p->nr_chain = *at++;
	p->chain = at;
	if (p->nr_chain > (uint64_t)(end - at))
		return false;
	at += p->nr_chain;
	if (end - at < 1)
		return false;
	if (*at++ != PERF_SAMPLE_REGS_ABI_NONE) {
		if ((size_t)(end - at) < NR_REGS)
			return false;
		p->regs = at;
		at += NR_REGS;
	}
	if (end - at < 1)
		return true;
	size = *at++;
	if (size % 8 || size / 8 >= (uint64_t)(end - at))
		return true;
	p->stack = (const uint8_t *)at;
	p->stack_size = at[size / 8] < size ? at[size / 8] : size;
	return true;
}

/* The kernel gives registers in the order of its numbers. */
static void load_regs(const uint64_t *values, struct ow_regs *regs)
{
	size_t i, k, before;

	*regs = (struct ow_regs){ 0 };
	for (i = 0; i < NR_REGS; i++) {
		for (before = 0, k = 0; k < NR_REGS; k++)
			before += perf_regs[k] < perf_regs[i];
		ow_regs_set(regs, (unsigned int)i, values[before]);
	}
}

static size_t take_kernel(struct engine *e, const struct parts *p)
{
	uint64_t i, nr = 0;

	for (i = 0; i < p->nr_chain && nr < OW_BPF_KERNEL; i++)
		if (p->chain[i] < (uint64_t)-4096) /* no PERF_CONTEXT_... */
			e->walks.packed[nr++] = p->chain[i];
	return nr;
}

static size_t walk(struct ow_recorder *r, const struct parts *p,
		   const struct ow_image *image, size_t first, enum ow_end *end)
{
	struct engine *e = r->priv;
	struct ow_window window;
	struct ow_regs regs;

	*end = OW_END_OUTERMOST;
	if (!p->regs || !image)
		return 0;
	load_regs(p->regs, &regs);
	window = (struct ow_window){ regs.val[ow_arch_x86_64.sp], p->stack_size,
				     p->stack };
	return ow_copywalk_run(&e->walks, image, &regs, &window, first, end);
}

static void take_sample(struct ow_recorder *r,
			const struct perf_event_header *h)
{
	struct engine *e = r->priv;
	struct ow_bpf_stack head = { 0 };
	const struct ow_image *image;
	struct parts p = { 0 };
	enum ow_end end;
	bool is_new;
	char state;

	if (!split(h, &p) || p.pid == 0)
		return;
	image = ow_images_of(&r->images, (pid_t)p.pid);
	if (!image)
		image = ow_images_look(&r->images, (pid_t)p.pid, &is_new);
	if (!image && p.regs) {
		r->stats.missed++;
		return;
	}
	head.nr_kernel = (uint16_t)take_kernel(e, &p);
	head.nr = (uint16_t)walk(r, &p, image, head.nr_kernel, &end);
	head.key.end = (uint8_t)end;
	head.key.image = image ? image->id : 0;
	head.key.pid = p.pid;
	head.key.tid = r->options.by_thread ? p.tid : 0;
	head.key.kind = OW_SAMPLE_CPU;
	head.tid = p.tid;
	if (!ow_task_stat((pid_t)p.pid, (pid_t)p.tid, head.comm,
			  sizeof(head.comm), &state))
		strcpy(head.comm, "?");
	if (ow_recorder_count(r, &head, e->walks.packed, 1))
		r->stats.lost++;
}

static void take_record(void *arg, const struct perf_event_header *h)
{
	struct ow_recorder *r = arg;
	const uint32_t *words = (const uint32_t *)(h + 1);
	bool is_new;

	r->stats.bytes_out += h->size;
	switch (h->type) {
	case PERF_RECORD_SAMPLE: take_sample(r, h); break;
	case PERF_RECORD_MMAP2: /* pid, tid, ... */
		if (h->misc & PERF_RECORD_MISC_MMAP_DATA)
			break;
		ow_images_look(&r->images, (pid_t)words[0], &is_new);
		break;
	case PERF_RECORD_FORK: /* pid, ppid, ... */
		if (words[0] != words[1])
			ow_images_fork(&r->images, (pid_t)words[1],
				       (pid_t)words[0]);
		break;
	case PERF_RECORD_LOST: /* id, number */
		r->stats.lost += ((const uint64_t *)words)[1];
		break;
	}
}

static int engine_wait(struct ow_recorder *r, unsigned int ms,
		       struct ow_error *err)
{
	struct engine *e = r->priv;
	uint64_t end = ow_recorder_now() + ms * 1000000ULL, now;

	for (now = ow_recorder_now(); now < end; now = ow_recorder_now()) {
		if (ow_perfrings_poll(&e->rings, (int)((end - now + 999999) /
						       1000000)) < 0)
			return errno == EINTR ?
				       0 :
				       ow_fail(err, OW_CODE_SYSTEM, "poll");
		ow_perfrings_read(&e->rings, take_record, r);
	}
	return 0;
}

static void engine_stop(struct ow_recorder *r)
{
	struct engine *e = r->priv;

	ow_perfrings_enable(&e->rings, false);
	ow_perfrings_read(&e->rings, take_record, r);
}

static int collect(struct ow_recorder *r, struct ow_error *err)
{
	struct engine *e = r->priv;

	(void)err;
	ow_perfrings_read(&e->rings, take_record, r);
	return 0;
}

static void engine_count(struct ow_recorder *r, struct ow_recorder_stats *s)
{
	(void)r;
	(void)s;
}

static void engine_close(struct ow_recorder *r)
{
	struct engine *e = r->priv;

	ow_copywalk_deinit(&e->walks);
	ow_perfrings_close(&e->rings);
	free(e);
}

const struct ow_engine_ops ow_perf_engine = {
	.open = engine_open,
	.add = engine_add,
	.start = engine_start,
	.wait = engine_wait,
	.stop = engine_stop,
	.collect = collect,
	.count = engine_count,
	.close = engine_close,
};
