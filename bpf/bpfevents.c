// SPDX-License-Identifier: BSD-2-Clause
#include "bpfevents.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "bpfbatch.h"
#include "bpfknown.h"
#include "bpfload.h"
#include "monotonic.h"
#include "sampler.skel.h"

#define LOOK_EVERY 256 /* events: at the time */
#define DOUBT_NS   50000000
#define MOST_NS    1000000000
#define LATE_NS    500000000

/* Does the kernel know of a change since it was told, which we don't hear of? */
static bool is_unheard(struct ow_recorder *r, pid_t pid,
		       const struct ow_bpf_copy *c)
{
	const struct ow_image_user *user = ow_images_user(&r->images, pid);
	const struct ow_image *now;

	if (user->is_gone || c->head.notice.arg != OW_BPF_UNTOLD ||
	    !user->told_at || user->told_as_of != user->as_of ||
	    c->time < user->told_at + DOUBT_NS)
		return false;
	now = ow_images_of(&r->images, pid);
	return now && now->is_placed;
}

/* Let the kernel walk stacks of the process by itself, if it can't yet. */
static void want(struct ow_recorder *r, pid_t pid, const struct ow_bpf_copy *c)
{
	const struct ow_bpfengine *e = r->priv;
	const struct ow_image *now;

	if (e->is_pressed)
		return;
	now = ow_images_of(&r->images, pid);
	if (c->head.notice.arg == OW_BPF_UNTOLD || !now || !now->is_placed)
		ow_bpfknown_want(r, pid);
}

/* What was mapped when a stack was copied; its process is soon told of. */
static struct ow_image *image_of(struct ow_recorder *r, pid_t pid,
				 const struct ow_bpf_copy *c)
{
	struct ow_image *image;

	/* Before who was sampled could run code, it was told of, */
	ow_bpfknown_follow(r);
	/* unless it was moved there, or another process mapped it. */
	if (c->untold > ow_images_looked(&r->images, pid))
		ow_images_doubt(&r->images, pid);
	/* What was to be mapped may have failed, or not have been heard of. */
	if (ow_images_is_in_doubt(&r->images, pid, c->time) ||
	    is_unheard(r, pid, c)) {
		image = ow_images_sampled(&r->images, pid, c->time);
		/* What has changed meanwhile has its own time. */
		ow_bpfknown_follow(r);
	} else {
		image = ow_images_at(&r->images, pid, c->time);
	}
	if (image)
		want(r, pid, c);
	return image;
}

const struct ow_arch *ow_bpfevents_arch(const struct ow_bpf_copy *c)
{
	return c->word == 4 ? &ow_arch_i386 : &ow_arch_x86_64;
}

struct ow_bpfwalked ow_bpfevents_walk(struct ow_recorder *r,
				      const struct ow_bpf_copy *c)
{
	const struct ow_arch *arch = ow_bpfevents_arch(c);
	struct ow_bpfwalked w = { .end = c->head.key.end };
	struct ow_bpfengine *e = r->priv;
	struct ow_regs regs = { 0 };
	struct ow_window window;
	unsigned int i;

	/* A thread without a program, or of unknown code, has no frames. */
	if (!ow_bpf_is_for_loader(w.end) || c->word == 0)
		return w;
	for (i = 0; i < arch->nr_regs; i++)
		ow_regs_set(&regs, i, c->regs[i]);
	w.end = OW_END_NO_MODULE;
	w.image = image_of(r, (pid_t)c->head.key.pid, c);
	window = (struct ow_window){ c->low,
				     (uint64_t)c->nr_pages * OW_BPF_PAGE,
				     c->stack };
	e->copies.uid = c->head.uid;
	e->copies.time = c->time;
	if (w.image)
		w.nr = ow_copywalk_run(&e->copies, w.image, arch, &regs,
				       &window, c->head.nr_kernel, &w.end);
	return w;
}

void ow_bpfevents_keep(struct ow_recorder *r, const struct ow_bpf_copy *c,
		       const struct ow_bpfwalked *w)
{
	struct ow_bpfengine *e = r->priv;
	struct ow_bpf_stack head = c->head;
	struct ow_stored *stored;

	memcpy(e->copies.packed, c->kernel, 8 * (size_t)head.nr_kernel);
	head.nr = (uint16_t)w->nr;
	e->ends[w->end]++;
	e->frames += w->nr;
	stored =
		ow_samplestore_add(&r->store, &head, e->copies.packed, c->time);
	if (!stored || stored->is.is_folded)
		return;
	stored->is.image = w->image ? w->image->id : 0;
	stored->is.end = w->end;
	ow_images_claim(&r->images, &stored->is);
}

/* What the kernel could not walk, and let leave. */
static void take_copy(struct ow_recorder *r, const struct ow_bpf_copy *c,
		      size_t size)
{
	struct ow_bpfengine *e = r->priv;
	struct ow_bpfwalked w;

	if (size < offsetof(struct ow_bpf_copy, stack) ||
	    size - offsetof(struct ow_bpf_copy, stack) <
		    (size_t)c->nr_pages * OW_BPF_PAGE ||
	    c->head.nr_kernel > OW_BPF_KERNEL)
		return;
	ow_images_tell_uid(&r->images, (pid_t)c->head.key.pid, c->time,
			   c->head.uid);
	w = ow_bpfevents_walk(r, c);
	e->ends[c->head.key.end % OW_NR_ENDS]--; /* as the kernel has it */
	ow_bpfevents_keep(r, c, &w);
}

static void take_stack(struct ow_recorder *r, const struct ow_bpf_stack *s,
		       size_t size)
{
	if (size < sizeof(*s) ||
	    size - sizeof(*s) < 8 * ((size_t)s->nr_kernel + s->nr))
		return;
	ow_images_tell_uid(&r->images, (pid_t)s->key.pid, s->notice.arg,
			   s->uid);
	ow_recorder_store(r, s, (const uint64_t *)(s + 1), s->notice.arg);
}

/* The text behind an event of least bytes, if there is one. */
static void set_text(struct ow_recorded_syscall *out, const void *event,
		     size_t least, size_t size)
{
	const char *text = (const char *)event + least;

	if (size <= least || text[size - least - 1])
		return;
	out->text = text;
	out->text_size = (uint32_t)(size - least - 1);
}

static void take_call(struct ow_recorder *r, const struct ow_bpf_syscall *s,
		      size_t size)
{
	struct ow_bpfengine *e = r->priv;
	struct ow_recorded_syscall out;
	const struct ow_stored *stored;

	if (size < sizeof(*s))
		return;
	stored = s->key.pid ? ow_samplestore_find(&r->store, &s->key) : NULL;
	if (s->key.pid && !stored)
		e->stackless++;
	out = (struct ow_recorded_syscall){
		.event = OW_SYSCALL_BEGINS,
		.pid = (pid_t)s->notice.pid,
		.tid = (pid_t)s->tid,
		.nr = s->nr,
		.time = s->notice.arg,
		.stack = stored ? &stored->is : NULL,
	};
	set_text(&out, s, sizeof(*s), size);
	memcpy(out.args, s->args, sizeof(out.args));
	r->options.on_syscall(r->options.arg, &out);
}

static void take_result(struct ow_recorder *r, const struct ow_bpf_result *s,
			size_t size)
{
	struct ow_recorded_syscall out;

	if (size < sizeof(*s))
		return;
	out = (struct ow_recorded_syscall){
		.event = s->notice.type == OW_BPF_EVENT_PROGRAM ?
				 OW_SYSCALL_TEXT :
				 OW_SYSCALL_ENDS,
		.pid = (pid_t)s->notice.pid,
		.tid = (pid_t)s->tid,
		.nr = s->nr,
		.result = s->result,
		.time = s->notice.arg,
	};
	set_text(&out, s, sizeof(*s), size);
	r->options.on_syscall(r->options.arg, &out);
}

static void take_gone(struct ow_recorder *r, const struct ow_bpf_notice *n)
{
	const struct ow_recorded_syscall out = {
		.event = OW_SYSCALL_GONE,
		.pid = (pid_t)n->pid,
		.tid = (pid_t)n->arg,
	};

	r->options.on_syscall(r->options.arg, &out);
}

/* Return true if arg is the time of the event. */
static bool has_time(uint32_t type)
{
	return type == OW_BPF_EVENT_STACK || type == OW_BPF_EVENT_ENTER ||
	       type == OW_BPF_EVENT_LEAVE;
}

/* Return true if an event of that type may take so long that few have a tick's time. */
static bool takes_long(uint32_t type)
{
	return type == OW_BPF_EVENT_STACK || type == OW_BPF_EVENT_COPY ||
	       type == OW_BPF_EVENT_EVICTED;
}

static void take_any(struct ow_recorder *r, const struct ow_bpf_notice *n,
		     size_t size)
{
	const void *bytes = n;

	if (n->type == OW_BPF_EVENT_STACK)
		take_stack(r, bytes, size);
	else if (n->type == OW_BPF_EVENT_ENTER)
		take_call(r, bytes, size);
	else if (n->type == OW_BPF_EVENT_LEAVE ||
		 n->type == OW_BPF_EVENT_PROGRAM)
		take_result(r, bytes, size);
	else if (n->type == OW_BPF_EVENT_GONE)
		take_gone(r, n);
	else if (n->type == OW_BPF_EVENT_COPY)
		take_copy(r, bytes, size);
	else if (n->type == OW_BPF_EVENT_EVICTED && n->arg < OW_BPF_OBJECTS)
		ow_bpftables_ask(&((struct ow_bpfengine *)r->priv)->tables,
				 (uint32_t)n->arg,
				 ow_images_uid(&r->images, (pid_t)n->pid));
}

/* The user whose event it is, as far as that was told; or -1. */
static uid_t user_of(const struct ow_recorder *r, const struct ow_bpf_notice *n,
		     size_t size)
{
	const struct ow_image_user *user;
	const void *bytes = n;

	if ((n->type == OW_BPF_EVENT_COPY || n->type == OW_BPF_EVENT_STACK) &&
	    size >= sizeof(struct ow_bpf_stack))
		return ((const struct ow_bpf_stack *)bytes)->uid;
	user = ow_images_user(&r->images, (pid_t)n->pid);
	return user && user->has_uid ? user->uid : (uid_t)-1;
}

static void lose(struct ow_bpfengine *e, const struct ow_bpf_notice *n)
{
	e->lost++;
	ow_bpfhaste_lose(&e->haste, (pid_t)n->pid);
}

/*
 * When there is little time: what takes it is lost, by the process that it is of.  What a
 * stack stands for is lost where it is counted, or where its call is.
 */
static void take_hastily(struct ow_recorder *r, const struct ow_bpf_notice *n,
			 size_t size)
{
	struct ow_bpfengine *e = r->priv;
	uint64_t begun;
	uid_t uid;

	if (n->type != OW_BPF_EVENT_COPY && !has_time(n->type)) {
		if (n->type != OW_BPF_EVENT_EVICTED)
			take_any(r, n, size);
		return;
	}
	uid = user_of(r, n, size);
	if (!ow_bpfhaste_may_take(&e->haste, (pid_t)n->pid, uid)) {
		if (n->type != OW_BPF_EVENT_STACK)
			lose(e, n);
		return;
	}
	begun = ow_now_ns();
	take_any(r, n, size);
	ow_bpfhaste_spend(&e->haste, (pid_t)n->pid, uid, ow_now_ns() - begun);
}

static int take_event(void *arg, void *bytes, size_t size)
{
	const struct ow_bpf_notice *n = bytes;
	struct ow_recorder *r = arg;
	struct ow_bpfengine *e = r->priv;

	r->stats.bytes_out += size;
	e->nr_taken++;
	if (size < sizeof(*n))
		return 0;
	if (has_time(n->type) && n->arg > e->read_to)
		e->read_to = n->arg;
	if (n->type == OW_BPF_EVENT_COPY && e->loses_copies)
		e->lost++;
	else if (e->haste.until)
		take_hastily(r, n, size);
	else
		take_any(r, n, size);
	if (e->fence && has_time(n->type) && n->arg > e->fence) {
		e->is_at_fence = true;
		return -EAGAIN;
	}
	/* What processes do meanwhile would be lost before long. */
	if (e->nr_taken % LOOK_EVERY == 0)
		ow_bpfknown_follow(r);
	/* More may come than can be taken: other things are to be done, too. */
	if (!takes_long(n->type) && e->nr_taken % LOOK_EVERY)
		return 0;
	return ow_now_ns() > e->deadline ? -EAGAIN : 0;
}

int ow_bpfevents_open(struct ow_recorder *r, struct ow_error *err)
{
	struct ow_bpfengine *e = r->priv;

	e->ring = ring_buffer__new(bpf_map__fd(e->skel->maps.events),
				   take_event, r, NULL);
	return e->ring ? 0 : ow_bpfload_refuse(err, "ring buffer");
}

bool ow_bpfevents_take(struct ow_recorder *r, uint64_t ns)
{
	struct ow_bpfengine *e = r->priv;
	uint64_t begun = ow_now_ns();

	e->deadline = begun + ns;
	if (ring_buffer__consume(e->ring) == -EAGAIN)
		return true;
	e->read_to = begun;
	return false;
}

static void add_counts(void *arg, const void *keys, const void *values,
		       uint32_t nr)
{
	const struct ow_sample_value *value = values;
	const struct ow_sample_key *key = keys;
	struct ow_recorder *r = arg;
	struct ow_bpfengine *e = r->priv;
	struct ow_stored *s;
	uint32_t i;

	r->stats.bytes_out += nr * (sizeof(*key) + sizeof(*value));
	for (i = 0; i < nr; i++) {
		s = ow_samplestore_find(&r->store, &key[i]);
		if (!s) {
			e->lost += value[i].count;
			continue;
		}
		s->is.count += value[i].count;
		s->is.value += value[i].value;
	}
	__atomic_fetch_sub(&e->skel->bss->counted, nr, __ATOMIC_RELAXED);
}

/* Take events until the fence, or a time.  Return true if some before it are left then. */
static bool take_until(struct ow_recorder *r, uint64_t until)
{
	struct ow_bpfengine *e = r->priv;
	uint64_t now = ow_now_ns();

	if (now >= until)
		return true;
	e->is_at_fence = false;
	return ow_bpfevents_take(r, until - now) && !e->is_at_fence;
}

/*
 * Their stacks have left before they were counted.  What has come since isn't waited
 * for, as there can always be more.
 */
static void take_counts(void *arg, const void *keys, const void *values,
			uint32_t nr)
{
	struct ow_recorder *r = arg;
	struct ow_bpfengine *e = r->priv;

	e->fence = ow_now_ns();
	if (take_until(r, e->collected_by)) {
		/* Copies before the stacks must not have others' counts lost. */
		e->loses_copies = true;
		take_until(r, e->collected_by + LATE_NS);
		e->loses_copies = false;
	}
	e->fence = 0;
	add_counts(r, keys, values, nr);
}

static int drain_counts(struct ow_recorder *r,
			void (*take)(void *arg, const void *keys,
				     const void *values, uint32_t nr))
{
	struct ow_bpfengine *e = r->priv;

	return ow_bpfbatch_drain(bpf_map__fd(e->skel->maps.counts),
				 sizeof(struct ow_sample_key),
				 sizeof(struct ow_sample_value), take, r);
}

void ow_bpfevents_count(struct ow_recorder *r)
{
	drain_counts(r, add_counts);
}

/* Whose counts are taken may have as many again. */
static void forget_shares(void *arg, const void *owners, const void *shares,
			  uint32_t nr)
{
	(void)arg;
	(void)owners;
	(void)shares;
	(void)nr;
}

/* Each call was told of by itself. */
static void forget_counts(void *arg, const void *keys, const void *values,
			  uint32_t nr)
{
	struct ow_recorder *r = arg;
	struct ow_bpfengine *e = r->priv;

	(void)keys;
	(void)values;
	__atomic_fetch_sub(&e->skel->bss->counted, nr, __ATOMIC_RELAXED);
}

static bool has_calls_alone(const struct ow_recorder *r)
{
	return r->options.on_syscall && r->options.events == OW_RECORD_SYSCALLS;
}

/* Counts that the kernel has, to ours; and none in the kernel. */
int ow_bpfevents_collect(struct ow_recorder *r, struct ow_error *err)
{
	struct ow_bpfengine *e = r->priv;
	int failed;

	ow_bpfknown_follow(r);
	e->may_drop = e->read_to >= e->emptied;
	/* Calls that wait have stacks that the kernel doesn't count any more. */
	if (has_calls_alone(r) && !e->may_drop)
		return 0;
	e->emptied = ow_now_ns();
	e->collected_by = e->emptied + MOST_NS;
	failed = drain_counts(r,
			      has_calls_alone(r) ? forget_counts : take_counts);
	if (!failed)
		failed = ow_bpfbatch_drain(bpf_map__fd(e->skel->maps.shares),
					   sizeof(uint64_t),
					   sizeof(struct ow_bpf_share),
					   forget_shares, NULL);
	return failed ? ow_bpfload_refuse(err, "read counts") : 0;
}
