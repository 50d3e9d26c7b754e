// SPDX-License-Identifier: BSD-2-Clause
/* The engine whose walks are programs in the kernel. */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <unistd.h>

#include "bpfbatch.h"
#include "bpfevents.h"
#include "bpfknown.h"
#include "bpfload.h"
#include "bpfwaits.h"
#include "error.h"
#include "monotonic.h"
#include "sampler.skel.h"

#define MANY     16384      /* of the kernel's counts: time to empty them */
#define TICK_NS  100000000  /* of the tables' time */
#define HASTE_NS 300000000  /* after a signal: for all that has come, */
#define REST_NS  3000000000 /* or without one */
#define HURRY_NS 500000000  /* after that: for some of what has come */
#define LOOK_MS  200        /* so often at what doesn't say that it is there */

static int engine_open(struct ow_recorder *r, struct ow_error *err)
{
	struct ow_bpfengine *e = calloc(1, sizeof(*e));
	int failed;

	if (!e)
		return ow_fail(err, OW_CODE_MEMORY, "out of memory");
	r->priv = e;
	e->stats_fd = -1;
	e->is_lazy = r->options.everyone && r->options.events == OW_RECORD_CPU;
	failed = ow_bpfload_open(r, err);
	if (failed)
		return failed;
	e->tables.objects = &r->objects;
	failed = ow_bpftables_init(&e->tables,
				   bpf_map__fd(e->skel->maps.tables),
				   bpf_map__fd(e->skel->maps.objects),
				   r->options.table_memory, err);
	if (!failed)
		failed = ow_bpfknown_init(r, err);
	if (!failed)
		failed = ow_copywalk_init(&e->copies, &r->images,
					  r->options.max_frames, err);
	if (!failed)
		failed = ow_lives_open(&e->lives, e->is_lazy, err);
	if (!failed)
		failed = ow_bpfevents_open(r, err);
	return failed ? failed : ow_bpfload_attach_lives(r, err);
}

static int engine_start(struct ow_recorder *r, struct ow_error *err)
{
	struct ow_bpfengine *e = r->priv;
	int failed;

	if (r->options.everyone)
		ow_bpfknown_add_all(r);
	/* All processes' tables may have taken longer than is to be sampled. */
	r->stats.begun_ns = ow_now_ns();
	e->skel->bss->ends_at = ow_recorder_ends_at(r);
	ow_bpftables_hurry(&e->tables);
	failed = ow_bpfload_attach(r, err);
	return failed ? failed : ow_bpfwaits_begin(r, err);
}

/* Until something has come from the kernel, or a signal: that is -1. */
static int poll_all(struct ow_bpfengine *e, int ms)
{
	size_t i, nr = e->lives.rings.nr;
	struct pollfd *fds = calloc(nr + 1, sizeof(*fds));
	int n;

	if (!fds)
		return 0;
	fds[nr] = (struct pollfd){ .fd = ring_buffer__epoll_fd(e->ring),
				   .events = POLLIN };
	for (i = 0; i < nr; i++)
		fds[i] = (struct pollfd){ .fd = e->lives.rings.all[i].fd,
					  .events = POLLIN };
	n = poll(fds, nr + 1, ms);
	free(fds);
	return n;
}

/* Tables' time, which the programs note with what they read. */
static void set_time(struct ow_bpfengine *e, uint64_t now)
{
	uint32_t ticks = (uint32_t)(now / TICK_NS);

	__atomic_store_n(&e->tables.in.now, ticks, __ATOMIC_RELAXED);
	e->skel->bss->loader_time = ticks;
}

/* First who is who, then what they did; tables come by themselves. */
static int engine_wait(struct ow_recorder *r, unsigned int ms,
		       struct ow_error *err)
{
	struct ow_bpfengine *e = r->priv;
	uint64_t now = ow_now_ns(), end = now + ms * 1000000ULL;
	int wait_ms;

	for (; now < end; now = ow_now_ns()) {
		wait_ms = (int)((end - now + 999999) / 1000000);
		if (wait_ms > LOOK_MS)
			wait_ms = LOOK_MS;
		if (ow_recorder_must_end(r))
			break;
		if (poll_all(e, e->nr_changed ? 0 : wait_ms) < 0)
			return errno == EINTR ?
				       0 :
				       ow_bpfload_refuse(err, "poll events");
		set_time(e, now);
		ow_bpfload_renew_subuids(e);
		ow_bpfknown_follow(r);
		ow_bpfevents_take(r, TICK_NS);
		ow_bpfknown_tell(r);
		ow_bpftables_retry(&e->tables);
		if (e->skel->bss->counted > MANY && !ow_recorder_must_end(r) &&
		    ow_bpfevents_collect(r, err))
			return -OW_CODE_SYSTEM;
	}
	ow_bpfknown_settle(r);
	return 0;
}

static void engine_stop(struct ow_recorder *r)
{
	struct ow_bpfengine *e = r->priv;
	uint64_t begun = ow_now_ns(), now, asked = 0;

	ow_bpfload_detach(e);
	while (ow_bpfevents_take(r, TICK_NS) &&
	       !ow_images_must_end(&r->images)) {
		now = ow_now_ns();
		if (!asked && r->options.asked && *r->options.asked)
			asked = now;
		if (now - begun > REST_NS || (asked && now - asked > HASTE_NS))
			ow_bpfhaste_begin(&e->haste, HURRY_NS);
	}
	ow_bpftables_stop(&e->tables);
	e->ended = ow_now_ns();
}

/* When waits that go on are taken to end. */
static uint64_t end_of(const struct ow_recorder *r)
{
	const struct ow_bpfengine *e = r->priv;
	uint64_t end = ow_recorder_ends_at(r);

	return end && end < e->ended ? end : e->ended;
}

static bool engine_keep(struct ow_recorder *r)
{
	const struct ow_bpfengine *e = r->priv;

	/* Calls that wait in the ring may be of stacks that none else is of. */
	if (r->options.on_syscall && !e->may_drop)
		return false;
	return ow_bpfwaits_keep(r);
}

static int engine_collect(struct ow_recorder *r, struct ow_error *err)
{
	const struct ow_bpfengine *e = r->priv;
	int failed = ow_bpfevents_collect(r, err);

	if (!failed && e->ended && r->options.events & OW_RECORD_OFF_CPU)
		ow_bpfwaits_end(r, end_of(r));
	return failed;
}

/* What all CPUs have counted. */
static void sum_tallies(const struct ow_bpfengine *e,
			struct ow_bpf_tallies *ret)
{
	int nr = libbpf_num_possible_cpus(), i;
	_cleanup_(ow_freep) struct ow_bpf_tallies *all = NULL;
	uint32_t zero = 0, k;

	*ret = (struct ow_bpf_tallies){ 0 };
	all = nr > 0 ? calloc((size_t)nr, sizeof(*all)) : NULL;
	if (!all ||
	    bpf_map_lookup_elem(bpf_map__fd(e->skel->maps.tallies), &zero, all))
		return;
	for (i = 0; i < nr; i++)
		for (k = 0; k < OW_BPF_NR_COUNTS; k++)
			ret->nr[k] += all[i].nr[k];
}

struct losses {
	struct ow_recorded_loss *all; /* the most first */
	size_t nr, max;
};

static void add_loss(struct losses *l, const struct ow_recorded_loss *loss)
{
	size_t at;

	for (at = l->nr; at > 0 && l->all[at - 1].lost < loss->lost; at--)
		if (at < l->max)
			l->all[at] = l->all[at - 1];
	if (at < l->max)
		l->all[at] = *loss;
	l->nr += l->nr < l->max;
}

/* More of a process that may be among the losses. */
static void add_more(struct losses *l, struct ow_recorded_loss loss)
{
	size_t i, nr = 0;

	for (i = 0; i < l->nr; i++)
		if (l->all[i].pid == loss.pid)
			loss.lost += l->all[i].lost;
		else
			l->all[nr++] = l->all[i];
	l->nr = nr;
	add_loss(l, &loss);
}

static void add_losses(void *arg, const void *keys, const void *values,
		       uint32_t nr)
{
	const struct ow_bpf_callshare *shares = values;
	const uint64_t *owners = keys;
	uint32_t i;

	for (i = 0; i < nr; i++)
		if (shares[i].lost) /* a user's has none */
			add_loss(arg,
				 &(struct ow_recorded_loss){ (pid_t)owners[i],
							     shares[i].lost });
}

static size_t engine_losses(struct ow_recorder *r, struct ow_recorded_loss *ret,
			    size_t max)
{
	const struct ow_bpfengine *e = r->priv;
	struct losses l = { ret, 0, max };
	struct ow_recorded_loss loss;
	size_t i;

	ow_bpfbatch_visit(bpf_map__fd(e->skel->maps.callshares),
			  sizeof(uint64_t), sizeof(struct ow_bpf_callshare),
			  add_losses, &l);
	for (i = 0; ow_bpfhaste_loss(&e->haste, i, &loss); i++)
		if (loss.lost)
			add_more(&l, loss);
	return l.nr;
}

static void count_runs(struct ow_recorder *r, struct bpf_program *prog)
{
	struct bpf_prog_info info = { 0 };
	uint32_t size = sizeof(info);

	if (bpf_program__fd(prog) < 0 ||
	    bpf_obj_get_info_by_fd(bpf_program__fd(prog), &info, &size))
		return;
	r->stats.program_ns += info.run_time_ns;
	r->stats.program_runs += info.run_cnt;
	r->stats.verified += info.verified_insns;
}

static void engine_count(struct ow_recorder *r, struct ow_recorder_stats *s)
{
	struct ow_bpfengine *e = r->priv;
	struct ow_bpf_tallies t;
	uint32_t i;

	sum_tallies(e, &t);
	s->samples = e->waiting + t.nr[OW_BPF_SAMPLES];
	s->missed = e->stackless + t.nr[OW_BPF_MISSED];
	s->lost = e->lost + t.nr[OW_BPF_LOST];
	s->lost_lives = e->lives.nr_lost;
	s->unfollowed = e->skel->bss->unfollowed;
	s->most_processes = bpf_map__max_entries(e->skel->maps.processes);
	s->copied = e->waiting + t.nr[OW_BPF_COPIED];
	s->frames = e->frames + t.nr[OW_BPF_SEEN];
	s->cold = t.nr[OW_BPF_COLD];
	for (i = 0; i < OW_NR_ENDS; i++)
		s->ends[i] = e->ends[i] + t.nr[OW_BPF_ENDS + i];
	ow_bpftables_count(&e->tables, &s->table_bytes, &s->evictions);
	ow_bpfknown_settle(r);
	s->program_ns = s->program_runs = s->verified = 0;
	count_runs(r, e->skel->progs.on_clock);
	count_runs(r, e->skel->progs.on_fault);
	count_runs(r, e->skel->progs.on_switch);
	count_runs(r, e->skel->progs.on_enter);
	count_runs(r, e->skel->progs.on_leave);
}

static bool engine_renew(struct ow_recorder *r)
{
	struct ow_bpfengine *e = r->priv;

	ow_bpfevents_count(r);
	e->nr_changed = e->first_changed = e->nr_awaited = 0;
	return ow_bpftables_forget_all(&e->tables);
}

static bool engine_release(struct ow_recorder *r, uint32_t number)
{
	struct ow_bpfengine *e = r->priv;

	return ow_bpftables_release(&e->tables, number);
}

static bool engine_forget(struct ow_recorder *r, const uint32_t *numbers,
			  uint32_t nr)
{
	struct ow_bpfengine *e = r->priv;

	return ow_bpftables_forget(&e->tables, numbers, nr);
}

static void engine_close(struct ow_recorder *r)
{
	struct ow_bpfengine *e = r->priv;

	ow_bpfload_detach(e);
	free(e->links);
	ring_buffer__free(e->ring);
	ow_bpfknown_deinit(r);
	ow_bpftables_deinit(&e->tables);
	ow_bpfhaste_deinit(&e->haste);
	ow_copywalk_deinit(&e->copies);
	ow_lives_close(&e->lives);
	sampler_bpf__destroy(e->skel);
	if (e->stats_fd >= 0)
		close(e->stats_fd);
	free(e);
}

const struct ow_engine_ops ow_bpf_engine = {
	.open = engine_open,
	.add = ow_bpfknown_add,
	.start = engine_start,
	.wait = engine_wait,
	.stop = engine_stop,
	.collect = engine_collect,
	.keep = engine_keep,
	.renew = engine_renew,
	.release = engine_release,
	.forget = engine_forget,
	.count = engine_count,
	.losses = engine_losses,
	.close = engine_close,
};
