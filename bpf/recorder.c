// SPDX-License-Identifier: BSD-2-Clause
#include "recorder.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "budget.h"
#include "error.h"
#include "filemap.h"
#include "hash.h"
#include "leftout.h"
#include "monotonic.h"
#include "object.h"
#include "ownproc.h"
#include "subuids.h"
#include "syscallargs.h"
#include "syscallflags.h"
#include "syscalls.h"

#define DEFAULT_TABLES ((size_t)256 << 20)
#define DEFAULT_STACK  ((size_t)32 << 10)
#define DEFAULT_HZ     99
#define MOST_HZ        1000000      /* more than any engine comes to */
#define SCHEDULER      "__schedule" /* and suffixes of the compiler's */
#define TRACING_MAX    12    /* frames above it, of tracepoints and BPF */
#define MANY           4096  /* stacks: to be drained meanwhile, */
#define MOST           65536 /* and none of them left */
#define MANY_BYTES     ((size_t)64 << 20) /* of stacks: likewise, */
#define MOST_BYTES     ((size_t)128 << 20)
#define LATE_NS        2000000000ULL /* a sample is told of by then */

#define STORE_BYTES \
	((uint64_t)128 << 20) /* of stacks, or a part of all memory */
#define STORE_PART 4

#define MUCH     ((size_t)64 << 20) /* bytes more than after the last one */
#define LEAST_NS 60000000000ULL /* between two; and between drops of names */
#define SOME_NS  250000000ULL   /* that a drain meanwhile may take */
#define DRAIN_NS 10000000000ULL /* a wait for names at the end isn't long */
#define REST_NS  10000000000ULL /* between two times that pages are let go */
#define NAMELESS ((uint64_t)128 << 20) /* bytes: to be closed soon */
#define MUCH_NS  1000000000ULL
#define PAST_NS  300000000ULL /* by then no program uses any of it */

static const struct ow_engine_ops *const engines[] = {
	[OW_ENGINE_BPF] = &ow_bpf_engine,
	[OW_ENGINE_PERF] = &ow_perf_engine,
	[OW_ENGINE_PTRACE] = &ow_ptrace_engine,
	[OW_ENGINE_KUNWIND] = &ow_kunwind_engine,
};

static void settle_options(struct ow_recorder_options *o)
{
	if (o->max_frames == 0 || o->max_frames > OW_BPF_FRAMES)
		o->max_frames = OW_BPF_FRAMES;
	if (o->table_memory == 0)
		o->table_memory = DEFAULT_TABLES;
	if (o->stack_size == 0)
		o->stack_size = DEFAULT_STACK;
	if (o->frequency == 0)
		o->frequency = DEFAULT_HZ;
	if (o->frequency > MOST_HZ)
		o->frequency = MOST_HZ;
}

/* Is it among those before it?  Who is named twice isn't sampled twice. */
static bool is_repeated(const pid_t *pids, size_t at)
{
	size_t i;

	for (i = 0; i < at; i++)
		if (pids[i] == pids[at])
			return true;
	return false;
}

static int settle(struct ow_recorder *r, struct ow_error *err)
{
	return r->ops->settle ? r->ops->settle(r, err) : 0;
}

/* That the kernel did not answer for a process, ow_images_find() has told. */
static void tell_left(const struct ow_error *why)
{
	if (why->code == OW_CODE_ABSENT)
		ow_leave_out("recording", why->msg);
}

/*
 * Any user's process can have the kernel not answer for it, or end at any time: the
 * others are sampled without it.  Tell why there is no such process when there is a
 * reason for another one; *why has the last reason.
 */
static int add_or_leave(struct ow_recorder *r, pid_t pid, size_t *nr_ret,
			struct ow_error *why)
{
	struct ow_error last = *why;
	int failed = r->ops->add(r, pid, why);

	if (!failed) {
		++*nr_ret;
		*why = last;
		return 0;
	}
	if ((why->code != OW_CODE_TIMEOUT && why->code != OW_CODE_ABSENT) ||
	    ow_images_must_end(&r->images))
		return failed;
	tell_left(&last);
	r->stats.unrecorded++;
	return 0;
}

/* Fail if there is none to be sampled. */
static int add_pids(struct ow_recorder *r, struct ow_error *err)
{
	const struct ow_recorder_options *o = &r->options;
	struct ow_error why = { 0 };
	size_t i, nr = 0;
	int failed = 0;

	for (i = 0; !failed && i < o->nr_pids; i++)
		if (!is_repeated(o->pids, i))
			failed = add_or_leave(r, o->pids[i], &nr, &why);
	if (!failed && o->nr_pids && nr == 0)
		failed = -why.code;
	if (!failed)
		tell_left(&why);
	else if (err)
		*err = why;
	return failed;
}

static size_t store_limit(void)
{
	uint64_t part = ow_get_memory_limit() / STORE_PART;

	return (size_t)(part < STORE_BYTES ? part : STORE_BYTES) | 1;
}

static bool must_end(const void *arg)
{
	const struct ow_recorder *r = arg;

	return ow_images_must_end(&r->images);
}

static int init_objects(struct ow_recorder *r, struct ow_error *err)
{
	int failed =
		ow_sampledobjects_init(&r->objects, r->options.naming, err);

	r->objects.must_end = must_end;
	r->objects.arg = r;
	return failed;
}

struct ow_recorder *ow_recorder_open(const struct ow_recorder_options *options,
				     struct ow_error *err)
{
	struct ow_recorder *r = calloc(1, sizeof(*r));
	int failed;

	if (!r) {
		ow_fail(err, OW_CODE_MEMORY, "out of memory");
		return NULL;
	}
	r->options = *options;
	settle_options(&r->options);
	r->stats.frequency = r->options.frequency;
	r->ops = engines[options->engine];
	r->images.objects = &r->objects;
	r->images.asked = r->images.jits.asked = options->asked;
	r->images.patience = 1;
	r->store.limit = store_limit();
	failed = init_objects(r, err);
	if (!failed)
		failed = ow_ownproc_check(err);
	if (!failed)
		failed = r->ops->open(r, err);
	if (!failed)
		failed = add_pids(r, err);
	if (!failed)
		failed = settle(r, err);
	if (!failed)
		return r;
	ow_recorder_close(r);
	return NULL;
}

void ow_recorder_close(struct ow_recorder *r)
{
	if (!r)
		return;
	if (r->priv)
		r->ops->close(r);
	ow_kernelnames_deinit(&r->kernel);
	ow_samplestore_deinit(&r->store);
	ow_images_deinit(&r->images);
	ow_sampledobjects_deinit(&r->objects);
	free(r);
}

int ow_recorder_start(struct ow_recorder *r, struct ow_error *err)
{
	int failed;

	r->stats.begun_ns = r->drained = ow_now_ns();
	failed = r->ops->start(r, err);
	/* Samples are named in good order. */
	r->images.patience = 2;
	return failed;
}

void ow_recorder_stop(struct ow_recorder *r)
{
	r->is_stopped = true;
	r->ops->stop(r);
}

int ow_recorder_add(struct ow_recorder *r, pid_t pid, struct ow_error *err)
{
	int failed = r->ops->add(r, pid, err);

	return failed ? failed : settle(r, err);
}

uint64_t ow_recorder_ends_at(const struct ow_recorder *r)
{
	uint64_t duration = r->options.duration_ns;

	return duration && duration < UINT64_MAX - r->stats.begun_ns ?
		       r->stats.begun_ns + duration :
		       0;
}

bool ow_recorder_must_end(const struct ow_recorder *r)
{
	uint64_t end = ow_recorder_ends_at(r);

	return (r->options.asked && *r->options.asked) ||
	       (end && ow_now_ns() >= end);
}

int ow_recorder_wait(struct ow_recorder *r, unsigned int ms,
		     struct ow_error *err)
{
	int failed = r->ops->wait(r, ms, err);
	uint64_t now = ow_now_ns(), since = now - LATE_NS;

	ow_subuids_renew(now);
	ow_jitmaps_read(&r->images.jits, false);
	ow_images_settle(&r->images, since);
	ow_images_thin(&r->images, since);
	if (now - r->rested >= REST_NS) {
		r->rested = now;
		ow_filemap_rest();
	}
	return failed;
}

struct ow_frame ow_recorded_frame(const struct ow_recorded *s, size_t i)
{
	if (i < s->nr_kernel)
		return (struct ow_frame){ .pc = s->packed[i],
					  .how = OW_HOW_ORC,
					  .flags = i ? OW_FRAME_RETURN : 0 };
	return (struct ow_frame){ .pc = OW_SAMPLE_PC(s->packed[i]),
				  .how = OW_SAMPLE_HOW(s->packed[i]),
				  .flags = OW_SAMPLE_FLAGS(s->packed[i]) };
}

/*
 * Where a thread waits, its stack begins in the scheduler: what was called from
 * there to take the sample is none of its.
 */
static void skip_tracing(struct ow_recorder *r, struct ow_recorded *s)
{
	struct ow_name name;
	struct ow_frame f;
	size_t i;

	for (i = 0; i < s->nr_kernel && i < TRACING_MAX; i++) {
		f = ow_recorded_frame(s, i);
		ow_kernelnames_name(&r->kernel, &f, &name);
		if (!name.function || strncmp(name.function, SCHEDULER,
					      sizeof(SCHEDULER) - 1) != 0)
			continue;
		s->packed += i;
		s->nr_kernel -= i;
		return;
	}
}

/*
 * A program's frames are called from nowhere in the kernel, whose own part begins where
 * it was entered.  The kernel's walk ends before that in code without unwind data, as in
 * the first instructions of BPF programs, and says nothing of it.
 */
static void note_entryless(struct ow_recorder *r, struct ow_recorded *s)
{
	struct ow_frame f;

	if (s->nr == 0 || s->nr_kernel == 0 || s->end != OW_END_OUTERMOST)
		return;
	f = ow_recorded_frame(s, s->nr_kernel - 1);
	if (ow_kernelnames_is_entry(&r->kernel, &f))
		return;
	s->end = OW_END_KERNEL;
	r->nr_entryless += s->count;
}

struct draining {
	struct ow_recorder *recorder;
	void (*take)(void *arg, const struct ow_recorded *s);
	void *arg;
	bool is_last;  /* nothing is named any better later */
	bool is_brief; /* what is left after a while waits for another time, */
	uint64_t until_ns; /* CLOCK_MONOTONIC: after that, or as recording is to end */
	bool was_cut; /* something was left */
};

/* May a JIT tell names of its code later, when it ends? */
static bool may_be_named(struct ow_recorder *r, const struct ow_recorded *s)
{
	const struct ow_image *image = ow_images_get(&r->images, s->image);
	const struct ow_bpf_range *range;
	struct ow_frame f;
	size_t i;

	if (!image || !ow_images_lives(&r->images, s->pid))
		return false;
	for (i = s->nr_kernel; i < s->nr_kernel + s->nr; i++) {
		f = ow_recorded_frame(s, i);
		range = ow_image_range(image, ow_frame_lookup_pc(&f));
		if (range && !range->mapped && !(range->start >> 63))
			return true;
	}
	return false;
}

static bool drain_one(void *arg, const struct ow_recorded *from)
{
	struct draining *d = arg;
	struct ow_recorded s = *from;

	if (d->is_brief && !d->was_cut)
		d->was_cut = ow_now_ns() > d->until_ns ||
			     ow_recorder_must_end(d->recorder);
	if (d->was_cut)
		return false;
	if (!d->is_last && may_be_named(d->recorder, from))
		return false;
	if (s.kind == OW_RECORD_OFF_CPU &&
	    !ow_images_must_end(&d->recorder->images))
		skip_tracing(d->recorder, &s);
	if (!ow_images_must_end(&d->recorder->images))
		note_entryless(d->recorder, &s);
	d->take(d->arg, &s);
	return true;
}

static void unclaim(void *arg, const struct ow_recorded *s)
{
	struct ow_recorder *r = arg;

	ow_images_unclaim(&r->images, s);
}

static bool release(void *arg, uint32_t number)
{
	struct ow_recorder *r = arg;

	return !r->ops->release || r->ops->release(r, number);
}

static bool forget(void *arg, const uint32_t *numbers, uint32_t nr)
{
	struct ow_recorder *r = arg;

	return !r->ops->forget || r->ops->forget(r, numbers, nr);
}

/* After all stacks were named that were taken until then. */
static void close_idle(struct ow_recorder *r, uint64_t since)
{
	bool is_crowded = ow_objectnumbers_is_crowded(&r->objects.numbers);
	bool named[OW_BPF_OBJECTS] = { false };

	ow_images_thin(&r->images, since);
	if (is_crowded)
		ow_images_mark(&r->images, named);
	ow_sampledobjects_close_idle(&r->objects, since,
				     is_crowded ? named : NULL, release, r);
	if (is_crowded)
		ow_sampledobjects_reuse(&r->objects, ow_now_ns() - MUCH_NS,
					named, forget, r);
}

static int drain(struct draining *d, struct ow_error *err)
{
	struct ow_recorder *r = d->recorder;
	uint64_t begun = ow_now_ns();
	int failed = r->ops->collect(r, err);

	r->drained = begun;

	if (!ow_images_must_end(&r->images))
		ow_jitmaps_read(&r->images.jits, true);
	d->until_ns = ow_now_ns() + SOME_NS;
	ow_samplestore_drain(&r->store, drain_one, d);
	if (begun > LATE_NS && !d->was_cut) {
		ow_jitmaps_drop(&r->images.jits, begun - LATE_NS);
		close_idle(r, begun - LATE_NS);
	}
	if (!r->ops->keep || r->ops->keep(r))
		ow_samplestore_drop(&r->store, unclaim, r);
	r->full_at = 2 * r->store.nr > MANY ? 2 * r->store.nr : MANY;
	if (r->full_at > MOST)
		r->full_at = MOST;
	return failed;
}

/* Bytes of memory that we have and no file, or 0: proc(5), /proc/PID/statm. */
static size_t own_memory(void)
{
	FILE *f = fopen("/proc/self/statm", "re");
	unsigned long all, here = 0, shared = 0;

	if (!f)
		return 0;
	if (fscanf(f, "%lu %lu %lu", &all, &here, &shared) != 3)
		here = shared = 0;
	fclose(f);
	return (here - shared) * (size_t)sysconf(_SC_PAGESIZE);
}

/* Stacks of waits and calls are counted long after they were told of. */
static bool may_begin_renewal(const struct ow_recorder *r)
{
	const struct ow_renewal *n = &r->renewal;

	return r->ops->renew &&
	       !(r->options.events &
		 (OW_RECORD_OFF_CPU | OW_RECORD_SYSCALLS)) &&
	       !n->since && (!n->last || ow_now_ns() - n->last >= LEAST_NS);
}

static bool has_much_memory(struct ow_recorder *r)
{
	size_t memory = own_memory();

	if (!r->renewal.memory)
		r->renewal.memory = memory;
	return memory > r->renewal.memory + MUCH;
}

static int renew(struct draining *d, struct ow_error *err)
{
	struct ow_recorder *r = d->recorder;

	if (!r->ops->renew(r))
		return ow_fail(err, OW_CODE_MEMORY, "out of memory");
	ow_samplestore_drain(&r->store, drain_one, d);
	ow_images_renew(&r->images);
	ow_sampledobjects_deinit(&r->objects);
	if (init_objects(r, err))
		return -OW_CODE_MEMORY;
	r->renewal = (struct ow_renewal){ .memory = own_memory(),
					  .last = ow_now_ns() };
	r->stats.renewals++;
	return 0;
}

/* Return true if it is under way, and all can be forgotten now. */
static bool is_ripe(const struct ow_recorder *r)
{
	return r->renewal.since && ow_now_ns() - r->renewal.since >= PAST_NS;
}

/*
 * Go on with it after stacks were named, all of them if it is ripe; or begin it if
 * much has become known.  Return 0, or what err says.
 */
static int go_on(struct draining *d, bool can_renew, struct ow_error *err)
{
	struct ow_recorder *r = d->recorder;

	if (can_renew)
		return renew(d, err);
	if (!may_begin_renewal(r) ||
	    (!ow_objectnumbers_is_crowded(&r->objects.numbers) &&
	     !has_much_memory(r)))
		return 0;
	ow_images_displace_all(&r->images);
	r->renewal.since = ow_now_ns();
	return 0;
}

/*
 * Names of what ran long ago must not keep others out for ever.  What is named again finds
 * its names again.
 */
static void drop_names(struct ow_recorder *r)
{
	bool lacks_jits = ow_jitmaps_lacks_names(&r->images.jits);
	bool lacks_files = ow_symbolizer_lacks_names(r->objects.symbolizer);

	if (r->is_stopped || (!lacks_jits && !lacks_files) ||
	    (r->dropped && ow_now_ns() - r->dropped < LEAST_NS))
		return;
	if (lacks_jits)
		ow_jitmaps_drop_names(&r->images.jits);
	if (lacks_files)
		ow_symbolizer_drop_names(r->objects.symbolizer);
	r->dropped = ow_now_ns();
}

int ow_recorder_drain(struct ow_recorder *r,
		      void (*take)(void *arg, const struct ow_recorded *s),
		      void *arg, struct ow_error *err)
{
	bool can_renew = is_ripe(r);
	struct draining d = { r, take, arg, .is_last = true };
	int failed = drain(&d, err);

	ow_sampledobjects_look_again(&r->objects, r->is_stopped);
	if (!failed && !r->is_stopped)
		failed = go_on(&d, can_renew, err);
	if (!failed)
		drop_names(r);
	return failed;
}

int ow_recorder_drain_some(struct ow_recorder *r,
			   void (*take)(void *arg, const struct ow_recorded *s),
			   void *arg, struct ow_error *err)
{
	bool can_renew = is_ripe(r);
	struct draining d = { r, take, arg,
			      .is_last = can_renew || r->store.nr >= MOST ||
					 r->store.bytes >= MOST_BYTES ||
					 r->store.is_short };
	int failed;

	d.is_brief = !can_renew;
	failed = drain(&d, err);
	if (!failed)
		failed = go_on(&d, can_renew, err);
	if (!failed)
		drop_names(r);
	return failed;
}

/*
 * Return true if stacks, or files of processes that have ended, take up much memory
 * or disk.
 */
static bool keeps_much(const struct ow_recorder *r)
{
	return (r->objects.numbers.nameless >= NAMELESS ||
		ow_objectnumbers_is_crowded(&r->objects.numbers) ||
		r->store.bytes >= MANY_BYTES || r->store.is_short) &&
	       ow_now_ns() - r->drained >= MUCH_NS;
}

bool ow_recorder_is_full(const struct ow_recorder *r)
{
	return r->store.nr >= (r->full_at ? r->full_at : MANY) ||
	       ow_now_ns() - r->drained >= DRAIN_NS ||
	       ow_jitmaps_is_full(&r->images.jits) || is_ripe(r) ||
	       keeps_much(r) ||
	       (ow_objectnumbers_is_crowded(&r->objects.numbers) &&
		may_begin_renewal(r));
}

size_t ow_recorder_name(struct ow_recorder *r, const struct ow_recorded *s,
			size_t i, struct ow_name *names, size_t max)
{
	struct ow_frame f = ow_recorded_frame(s, i);

	if (i >= s->nr_kernel)
		return ow_images_name(&r->images, s, &f, names, max);
	ow_kernelnames_name(&r->kernel, &f, &names[0]);
	return 1;
}

/* Where in the file the mapping begins that has an object's pc. */
static uint64_t offset_of(const struct ow_object *obj,
			  const struct ow_bpf_range *range, uint64_t pc)
{
	uint64_t size;
	const uint8_t *at = ow_elf_at(&obj->elf, pc - range->bias, &size);

	return at ? (uint64_t)(at - obj->elf.bytes) - (pc - range->start) : 0;
}

bool ow_recorder_mapping(struct ow_recorder *r, const struct ow_recorded *s,
			 size_t i, struct ow_module_info *ret)
{
	struct ow_frame f = ow_recorded_frame(s, i);
	const struct ow_image *image = ow_images_get(&r->images, s->image);
	uint64_t pc = ow_frame_lookup_pc(&f);
	const struct ow_capture_module *m;
	const struct ow_bpf_range *range;

	if (i < s->nr_kernel)
		return ow_kernelnames_module(&r->kernel, &f, ret);
	range = image ? ow_image_range(image, pc) : NULL;
	if (!range)
		return false;
	*ret = (struct ow_module_info){ range->start, range->end, 0, "", "", 0 };
	if (!range->object)
		return true;
	m = &r->objects.numbers.all->modules[range->object - 1];
	ret->bias = range->bias;
	ret->path = m->path;
	ret->build_id = m->build_id;
	if (m->object)
		ret->offset = offset_of(m->object, range, pc);
	return true;
}

bool ow_recorder_module(struct ow_recorder *r, const struct ow_recorded *s,
			size_t i, struct ow_module_info *ret)
{
	return ow_recorder_mapping(r, s, i, ret) && *ret->path;
}

void ow_recorder_stats(struct ow_recorder *r, struct ow_recorder_stats *ret)
{
	r->stats.stacks = r->store.nr_ever;
	r->stats.objects = ow_objectnumbers_nr(&r->objects.numbers);
	r->stats.images = r->images.last_id;
	r->stats.is_short = r->store.was_short;
	r->stats.crowded_processes = r->images.nr_full;
	r->stats.crowded_mappings = r->images.nr_refused;
	r->stats.crowded_maps = r->images.jits.nr_cut;
	r->ops->count(r, &r->stats);
	*ret = r->stats;
	ret->ends[OW_END_OUTERMOST] -= r->nr_entryless;
	ret->ends[OW_END_KERNEL] += r->nr_entryless;
}

size_t ow_recorder_losses(struct ow_recorder *r, struct ow_recorded_loss *ret,
			  size_t max)
{
	return r->ops->losses ? r->ops->losses(r, ret, max) : 0;
}

struct ow_stored *ow_recorder_store(struct ow_recorder *r,
				    const struct ow_bpf_stack *head,
				    const uint64_t *frames, uint64_t time)
{
	size_t before = r->store.nr;
	struct ow_stored *stored =
		ow_samplestore_add(&r->store, head, frames, time);

	if (r->store.nr > before)
		ow_images_claim(&r->images, &stored->is);
	return stored;
}

/* It was counted after what its process has mapped was looked at last. */
static void note_fresh(struct ow_recorder *r, struct ow_stored *stored)
{
	const struct ow_image_user *user =
		ow_images_user(&r->images, stored->is.pid);
	uint64_t checked = user ? user->checked : 0;

	if (stored->checked != checked)
		stored->fresh = 0;
	stored->checked = checked;
	stored->fresh++;
}

void ow_recorder_doubt(struct ow_recorder *r, struct ow_stored *stored,
		       uint32_t image)
{
	struct ow_bpf_stack head = {
		.key = stored->key,
		.tid = (uint32_t)stored->is.tid,
		.uid = stored->uid,
		.nr_kernel = (uint16_t)stored->is.nr_kernel,
		.nr = 1,
	};
	uint64_t nr = stored->fresh;
	struct ow_stored *other;

	head.key.image = image;
	head.key.end = OW_END_NO_ROOM;
	memcpy(head.comm, stored->is.comm, sizeof(head.comm));
	other = ow_recorder_store(r, &head, stored->is.packed,
				  stored->is.since);
	stored->is.count -= nr;
	stored->is.value -= nr;
	stored->fresh = 0;
	r->stats.ends[stored->is.end] -= nr;
	r->stats.frames -= nr * (stored->is.nr - 1);
	if (!other) {
		r->stats.lost += nr;
		return;
	}
	other->is.uid = stored->is.uid;
	other->is.count += nr;
	other->is.value += nr;
	r->stats.ends[OW_END_NO_ROOM] += nr;
}

int ow_recorder_count(struct ow_recorder *r, struct ow_bpf_stack *head,
		      const uint64_t *frames, uint64_t value)
{
	size_t nr = (size_t)head->nr_kernel + head->nr;
	struct ow_stored *stored;

	head->key.hash = ow_hash(frames, nr * sizeof(*frames)) ^
			 ow_hash(head->comm, sizeof(head->comm));
	head->uid = ow_images_uid(&r->images, (pid_t)head->key.pid);
	stored = ow_recorder_store(r, head, frames, ow_now_ns());
	if (!stored)
		return -ENOMEM;
	if (stored->is.count == 0)
		stored->is.uid = head->uid;
	stored->is.count++;
	stored->is.value += value;
	note_fresh(r, stored);
	r->stats.samples++;
	r->stats.frames += head->nr;
	r->stats.ends[head->key.end < OW_NR_ENDS ? head->key.end : 0]++;
	return 0;
}

const char *ow_syscall_text(int nr)
{
	if (nr >= 0 && nr & OW_SYSCALL_I386)
		return ow_syscall_name(&ow_arch_i386, nr & ~OW_SYSCALL_I386);
	if (nr >= 0 && nr & OW_SYSCALL_X32)
		return ow_syscall_x32_name(nr & ~OW_SYSCALL_X32);
	return ow_syscall_name(&ow_arch_x86_64, nr);
}

const struct ow_syscall_shape *ow_syscall_shape(int nr)
{
	const char *name = ow_syscall_text(nr);

	return name ? ow_syscall_shape_of(name) : NULL;
}

char ow_syscall_arg_kind(const struct ow_syscall_shape *shape,
			 const uint64_t args[6], unsigned int i)
{
	return i < 6 ? ow_syscallflags_kind(shape->args, args, i) : '\0';
}

bool ow_syscall_arg_text(char kind, uint64_t value, char *buf, size_t size)
{
	return ow_syscallflags_text(kind, value, buf, size);
}

int ow_syscall_number(const char *name)
{
	const char *other;
	int nr;

	for (nr = 0; nr < OW_SYSCALL_NUMBERS; nr++) {
		other = ow_syscall_text(nr);
		if (other && strcmp(other, name) == 0)
			return nr;
	}
	return -1;
}
