// SPDX-License-Identifier: BSD-2-Clause
/*
 * A domain as a target: threads are its vCPUs.  A walk reads nothing but what
 * the sample copied and what the images have read-only.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "capture.h"
#include "err.h"
#include "error.h"
#include "xenimages.h"
#include "xenstacks.h"

#define TRIES          8 /* to copy as much as the stacks need */
/* A guest that runs between two tries may leave stacks in another way. */
#define TRIES_OF_LINKS 2
#define TRIAL_FRAMES   65536 /* the shortest ones of 1 MiB */
#define UPPER_HALF     ((uint64_t)1 << 63)

/* What lives as long as the capture. */
struct kept {
	struct ow_xen *x;
	struct ow_xenstacks stacks;
	struct ow_xenimages images;
	struct ow_nametable *names;
	struct ow_frame trial[TRIAL_FRAMES];
};

static void free_kept(void *priv)
{
	struct kept *k = priv;

	ow_xenstacks_free(&k->stacks);
	ow_xenimages_free(&k->images);
	ow_nametable_close(k->names);
	free(k);
}

static struct ow_object *open_object(struct ow_capture *c,
				     struct ow_capture_module *m,
				     struct ow_error *err)
{
	return ow_xenimages_take(&((struct kept *)c->priv)->images, m, err);
}

/* The stack comes first, as the walk's window; here it was not in that. */
static int read_memory(const struct ow_memory *mem, uint64_t addr, void *buf,
		       size_t size)
{
	const struct ow_capture *c = (const struct ow_capture *)mem;
	struct kept *k = c->priv;
	const struct ow_window *w = &c->walk.step.stack;
	size_t i;

	if (w->size && addr - w->start < w->size &&
	    size <= w->size - (addr - w->start)) {
		memcpy(buf, w->bytes + (addr - w->start), size);
		return 0;
	}
	if (!ow_capture_read_files(c, addr, buf, size))
		return 0;
	for (i = 0; w->size && i < c->nr_threads; i++) {
		if (!c->threads[i].info.captured ||
		    c->threads[i].stack.bytes != w->bytes)
			continue;
		if (ow_xenstacks_read_left(&k->stacks, i, addr, buf, size))
			return 0;
		ow_xenstacks_want(&k->stacks, i, addr, size);
	}
	return -OW_EFAULT;
}

static char state_of(const struct ow_xen_run *r)
{
	if (!r->online)
		return '-';
	return r->blocked ? 'S' : 'R';
}

/* Has the vCPU a stack that these images can tell of? */
static bool is_fit(const struct ow_capture *c, const struct ow_xen_vcpu *v,
		   struct ow_error *why)
{
	uint64_t pc = v->regs.val[v->arch->pc];

	if (v->arch != c->target.arch) {
		ow_fail(why, OW_CODE_UNSUPPORTED, "runs %s code at %#llx",
			v->arch->name, (unsigned long long)pc);
		return false;
	}
	if (v->is_user && !ow_map_find(&c->target.map, pc)) {
		ow_fail(why, OW_CODE_ABSENT,
			"in user mode at %#llx, which no image has",
			(unsigned long long)pc);
		return false;
	}
	return true;
}

static void take_thread(struct ow_capture *c, size_t i)
{
	struct kept *k = c->priv;
	const struct ow_xenstack *from = &k->stacks.list[i];
	const struct ow_xen_vcpu *v = &k->x->vcpus[i];
	struct ow_capture_thread *t = &c->threads[i];

	t->info.state = state_of(&from->run);
	t->info.stopped = !k->stacks.no_pause && !from->err;
	t->info.certain = from->certain && !from->err;
	t->info.captured = false;
	t->stack = (struct ow_window){ 0 };
	if (from->err == -ENODATA) {
		ow_fail(&t->info.why, OW_CODE_ABSENT, "the vCPU is down");
		return;
	}
	if (from->err) {
		ow_xen_fail(k->x, from->err, "registers", &t->info.why);
		return;
	}
	if (!is_fit(c, v, &t->info.why))
		return;
	t->info.captured = true;
	t->is_user = v->is_user;
	t->regs = v->regs;
	t->stack = (struct ow_window){ from->start, from->size, from->bytes };
}

/*
 * Return addresses may be signed in the bits that page tables don't look at, of
 * the half in which code runs.
 */
static uint64_t code_mask(const struct ow_capture *c)
{
	const struct kept *k = c->priv;
	const struct ow_arch *arch = c->target.arch;
	const struct ow_xen_vcpu *v;
	const struct ow_paging_half *half;
	size_t i;

	for (i = 0; arch->pc_half && i < c->nr_threads; i++) {
		v = &k->x->vcpus[i];
		if (!c->threads[i].info.captured)
			continue;
		half = v->regs.val[arch->pc] & arch->pc_half ? &v->paging.high :
							       &v->paging.low;
		if (half->levels)
			return ((uint64_t)1 << half->bits) - 1;
	}
	return ow_arch_mask(arch);
}

static void take_threads(struct ow_capture *c)
{
	size_t i;

	for (i = 0; i < c->nr_threads; i++)
		take_thread(c, i);
	c->target.pc_mask = code_mask(c);
}

/* Copies that may be half of another sample, or freed, are nobody's. */
static void lose_threads(struct ow_capture *c, const struct ow_error *why)
{
	size_t i;

	for (i = 0; i < c->nr_threads; i++) {
		c->threads[i].info.captured = false;
		c->threads[i].info.why = *why;
		c->threads[i].stack = (struct ow_window){ 0 };
	}
}

/* Pauses and calls are added up of all tries of a sample. */
static void add_stats(struct ow_capture_stats *st, const struct ow_xenstacks *s)
{
	st->freeze_ns += s->paused_ns;
	if (s->paused_ns > st->longest_ns)
		st->longest_ns = st->median_ns = s->paused_ns;
	st->bytes_copied = s->bytes;
	st->stopped = s->no_pause ? 0 : s->x->nr_vcpus;
	st->hypercalls += s->calls;
	st->mappings += s->maps;
}

/*
 * Walk all threads for what they read: a stack that was not copied as far as
 * that is asked for, and then false.  links_too: also for one that was left.
 */
static bool copies_suffice(struct ow_capture *c, bool links_too)
{
	struct kept *k = c->priv;
	struct ow_error why;
	enum ow_end end;
	size_t i;

	for (i = 0; i < c->nr_threads; i++)
		if (c->threads[i].info.captured)
			ow_capture_walk(c, i, k->trial, TRIAL_FRAMES, &end,
					&why);
	return !ow_xenstacks_wants(&k->stacks, links_too);
}

/*
 * Until the copies are as long as the stacks are, as far as walks tell: so none
 * is cut because it is deeper than those before, or leads to another stack.
 */
static int take_again(struct ow_capture *c, struct ow_error *err)
{
	struct kept *k = c->priv;
	struct ow_error why = { 0 };
	unsigned int tries;
	int failed;

	c->stats = (struct ow_capture_stats){ 0 };
	for (tries = 0; tries < TRIES; tries++) {
		failed = ow_xenstacks_take(&k->stacks, &why);
		add_stats(&c->stats, &k->stacks);
		if (failed) {
			lose_threads(c, &why);
			if (err)
				*err = why;
			return failed;
		}
		take_threads(c);
		if (copies_suffice(c, tries < TRIES_OF_LINKS))
			break;
	}
	return 0;
}

/* The architecture is the first image's, or that of a vCPU that is up. */
static const struct ow_arch *find_arch(const struct kept *k)
{
	uint32_t i;

	if (k->images.nr)
		return k->images.list[0].object->elf.arch;
	for (i = 0; i < k->x->nr_vcpus; i++)
		if (!ow_xen_ask_vcpu(k->x, i))
			return k->x->vcpus[i].arch;
	return k->x->info.word == 4 ? &ow_arch_i386 :
#if defined(__aarch64__)
				      &ow_arch_aarch64;
#else
				      &ow_arch_x86_64;
#endif
}

static int make_threads(struct ow_capture *c, const struct ow_xen *x,
			struct ow_error *err)
{
	size_t i;

	c->threads = calloc(x->nr_vcpus, sizeof(*c->threads));
	if (!c->threads)
		return ow_fail(err, OW_CODE_MEMORY, "out of memory");
	c->nr_threads = x->nr_vcpus;
	for (i = 0; i < c->nr_threads; i++) {
		c->threads[i].info.tid = (pid_t)i;
		c->threads[i].info.syscall_nr = OW_SYSCALL_UNKNOWN;
		snprintf(c->threads[i].info.name,
			 sizeof(c->threads[i].info.name), "vCPU %zu", i);
	}
	return 0;
}

static int place(struct ow_capture *c, const struct ow_xen_options *xen,
		 struct ow_error *err)
{
	struct kept *k = c->priv;
	bool by_fp = xen->unwinding == OW_XEN_BY_FP || xen->nr_images == 0;
	int failed;

	if (xen->symbols) {
		k->names =
			ow_nametable_open(xen->symbols, OW_ALIASES_PLAIN, err);
		c->names = k->names;
		if (!k->names)
			return -OW_CODE_ABSENT;
		if (ow_nametable_is_empty(k->names))
			return ow_fail(err, OW_CODE_FORMAT,
				       "%s: no symbols, or their addresses "
				       "are hidden",
				       xen->symbols);
	}
	failed = ow_xenimages_open(&k->images, k->x, xen, k->names, err);
	if (failed)
		return failed;
	c->target.arch = find_arch(k);
	c->target.no_fallback = xen->unwinding == OW_XEN_BY_CFI;
	c->target.has_gaps = true; /* of what is no image */
	c->by_fp_only = by_fp;
	failed = ow_xenimages_place(&k->images, c, by_fp, err);
	if (!failed && c->nr_modules &&
	    c->modules[c->nr_modules - 1].start >= UPPER_HALF)
		c->target.kernel_start = UPPER_HALF;
	return failed;
}

/* The threads that were asked for keep their vCPU's number, as all do. */
static int begin(struct ow_capture *c, struct ow_xen *x,
		 const struct ow_xen_options *xen,
		 const struct ow_capture_options *options, struct ow_error *err)
{
	struct kept *k = c->priv;
	bool no_pause = options->stopping == OW_STOPPING_NEVER;
	char program[80];
	int failed;

	if (options->stopping && !no_pause)
		return ow_fail(err, OW_CODE_UNSUPPORTED,
			       "a guest is paused as a whole, or not at all");
	if (options->reading || options->stop_timeout_ms || options->sysroot)
		return ow_fail(err, OW_CODE_UNSUPPORTED,
			       "a guest's memory is mapped, it pauses at once, "
			       "and its images are files here");
	if (options->states || options->tids || options->extras)
		return ow_fail(err, OW_CODE_UNSUPPORTED,
			       "all vCPUs of a guest are taken, and what its "
			       "programs do is not known");
	snprintf(program, sizeof(program), "xen:%s", x->name);
	if (!x->name[0])
		snprintf(program, sizeof(program), "xen:%u", x->seam->domid);
	c->program = strdup(program);
	c->pid = (pid_t)x->seam->domid;
	if (!c->program ||
	    ow_xenstacks_init(&k->stacks, x, options->stack_size, no_pause))
		return ow_fail(err, OW_CODE_MEMORY, "out of memory");
	failed = make_threads(c, x, err);
	if (!failed)
		failed = place(c, xen, err);
	return failed ? failed : take_again(c, err);
}

struct ow_capture *ow_capture_xen(struct ow_xen *x,
				  const struct ow_xen_options *xen,
				  const struct ow_capture_options *options,
				  struct ow_error *err)
{
	static const struct ow_xen_options no_xen;
	static const struct ow_capture_options no_options;
	struct kept *k = calloc(1, sizeof(*k));
	struct ow_capture *c = k ? ow_capture_create(err) : NULL;

	if (!k)
		ow_fail(err, OW_CODE_MEMORY, "out of memory");
	if (!c) {
		free(k);
		return NULL;
	}
	k->x = x;
	c->priv = k;
	c->priv_free = free_kept;
	c->open = open_object;
	c->again = take_again;
	c->target.mem.read = read_memory;
	ow_capture_use_tables(c, options);
	if (!begin(c, x, xen ? xen : &no_xen, options ? options : &no_options,
		   err))
		return c;
	ow_capture_destroy(c);
	return NULL;
}
