// SPDX-License-Identifier: BSD-2-Clause
#include "redact.h"

#include <stdlib.h>
#include <string.h>

#include "arch.h"
#include "cfiwork.h"
#include "err.h"
#include "error.h"
#include "grow.h"
#include "monotonic.h"

#define MOST_FRAMES 1000000
#define MOST_TRIES  500     /* walks of a thread with less and less memory */
#define MOST_TRIED  4000000 /* frames that they lead over, all together */

/* Frames that the walks of all threads lead over: any number may be on one stack. */
#define MOST_WALKED (1ULL << 25)

/* CPU time of these walks: frames of some stacks take ten times as long as others. */
#define MOST_THREAD_NS 1000000000ULL  /* that a thread's memory is tried for, */
#define MOST_TRIES_NS  10000000000ULL /* and that of all threads */
#define MOST_NS        20000000000ULL /* in all */

/*
 * The capture as a target of its own, that notes what is read of its memory, or
 * gives only what was kept of it.
 */
struct reader {
	struct ow_target target; /* first: reads find the reader by it */
	const struct ow_capture *c;
	const struct ow_window *stack; /* of the thread */
	struct ow_readlog *notes;      /* or NULL */
	const struct ow_pieces *only;  /* what is given, or NULL: all */
};

/* A walk and what it led to. */
struct trace {
	struct ow_walk walk;
	struct ow_frame *frames;
	size_t room;
};

struct redactor {
	struct ow_capture *c;
	struct reader reader;
	struct trace whole; /* with all that was captured */
	struct trace less;  /* with less */
	size_t tried;       /* frames of a thread's walks until now */
	uint64_t walked;    /* of all walks */
	uint64_t begun_ns, thread_begun_ns; /* CPU time */
	uint64_t cfi_share; /* what CFI may run in each walk, so that all are alike */
	uint64_t cfi_left;      /* of that, of the walk that is under way */
	struct ow_readlog seen; /* by the thread's walk */
	struct ow_pieces some;  /* of that */
	struct ow_readlog kept; /* of all threads */
};

static bool is_captured(const struct reader *r, uint64_t addr)
{
	return addr - r->stack->start < r->stack->size ||
	       ow_capture_region_at(r->c, addr);
}

/* As the walk would read it: from its thread's own copy, if it is there. */
static int read_whole(const struct reader *r, uint64_t addr, void *buf,
		      size_t size)
{
	uint64_t skip = addr - r->stack->start;

	if (skip < r->stack->size && r->stack->size - skip >= size) {
		memcpy(buf, r->stack->bytes + skip, size);
		return 0;
	}
	return r->c->target.mem.read(&r->c->target.mem, addr, buf, size);
}

/* With only some of it, just as a capture that has no more. */
static int read_memory(const struct ow_memory *mem, uint64_t addr, void *buf,
		       size_t size)
{
	const struct reader *r = (const struct reader *)mem;
	int err;

	if (r->only)
		return ow_pieces_read(r->only, addr, buf, size) ?
			       ow_capture_read_files(r->c, addr, buf, size) :
			       0;
	err = read_whole(r, addr, buf, size);
	if (!err && r->notes && is_captured(r, addr))
		ow_readlog_add(r->notes, addr, buf, size);
	return err;
}

/*
 * Walk from there, as far as it goes, the capture itself (with the thread's
 * stack) or through the reader; false if there is no memory for it.
 */
static bool run_on(struct redactor *d, struct trace *t,
		   const struct ow_target *target,
		   const struct ow_window *stack, const struct ow_regs *regs)
{
	enum ow_end end;

	for (;;) {
		if (d->reader.notes)
			ow_readlog_clear(d->reader.notes);
		d->cfi_left = d->cfi_share;
		ow_walk_begin(&t->walk, target, stack, NULL, regs, t->frames,
			      (unsigned int)t->room);
		while ((end = ow_walk_run(&t->walk)) == OW_END_WANT)
			ow_capture_ready(
				d->c,
				(struct ow_capture_module *)t->walk.wanted);
		ow_effort_spend(&d->c->cfi_work, d->cfi_share - d->cfi_left);
		if (end != OW_END_LIMIT || t->room >= MOST_FRAMES)
			return true;
		if (!ow_grow(&t->frames, &t->room, t->room + 1,
			     sizeof(*t->frames)))
			return false;
	}
}

static bool run(struct redactor *d, struct trace *t, const struct ow_regs *regs)
{
	bool good = run_on(d, t, &d->reader.target, NULL, regs);

	d->tried += t->walk.nr;
	d->walked += t->walk.nr;
	return good;
}

/* A stack made to be walked for long: what was not tried yet is kept. */
static bool is_tired(const struct redactor *d)
{
	uint64_t now = ow_cpu_ns();

	return d->tried > MOST_TRIED ||
	       now - d->thread_begun_ns > MOST_THREAD_NS ||
	       now - d->begun_ns > MOST_TRIES_NS;
}

static bool is_same(const struct trace *a, const struct trace *b)
{
	size_t i;

	if (a->walk.nr != b->walk.nr || a->walk.end != b->walk.end ||
	    a->walk.err != b->walk.err ||
	    (a->walk.end == OW_END_FAULT &&
	     a->walk.step.fault != b->walk.step.fault))
		return false;
	for (i = 0; i < a->walk.nr; i++)
		if (a->frames[i].pc != b->frames[i].pc ||
		    a->frames[i].sp != b->frames[i].sp ||
		    a->frames[i].how != b->frames[i].how ||
		    a->frames[i].flags != b->frames[i].flags)
			return false;
	return true;
}

/* The words that stacks are found by as a rule. */
enum choice {
	CHOOSE_CODE,  /* addresses of code, and zeros, which end stacks */
	CHOOSE_STACK, /* addresses of what was captured, too */
};

static bool is_chosen(const struct redactor *d,
		      const struct ow_readlog_entry *e, enum choice choice)
{
	const struct ow_target *t = &d->c->target;
	uint64_t mask = t->pc_mask ? t->pc_mask : t->arch->pc_mask;
	uint64_t value = 0;

	if (e->size != t->arch->word)
		return true;
	memcpy(&value, e->bytes, e->size);
	if (value == 0 ||
	    ow_map_find(&t->map, ow_arch_code(t->arch, mask, value) - 1))
		return true;
	return choice == CHOOSE_STACK && ow_capture_region_at(d->c, value);
}

/* Walk with what is kept of the thread's memory; *same_ret: nothing changed. */
static bool run_less(struct redactor *d, const struct ow_regs *regs,
		     bool *same_ret)
{
	if (!ow_pieces_join(&d->some, &d->seen))
		return false;
	d->reader.only = &d->some;
	if (!run(d, &d->less, regs))
		return false;
	*same_ret = is_same(&d->whole, &d->less);
	return true;
}

static bool run_choice(struct redactor *d, const struct ow_regs *regs,
		       enum choice choice, bool *same_ret)
{
	size_t i;

	for (i = 0; i < d->seen.nr; i++)
		d->seen.list[i].state = is_chosen(d, &d->seen.list[i], choice) ?
						OW_READLOG_KEPT :
						OW_READLOG_LEFT_OUT;
	return run_less(d, regs, same_ret);
}

/* Give all entries of one state another; were there any? */
static bool change_states(struct redactor *d, size_t at, size_t nr,
			  uint8_t from, uint8_t to)
{
	bool any = false;

	for (; nr > 0 && at < d->seen.nr; at++, nr--) {
		if (d->seen.list[at].state != from)
			continue;
		d->seen.list[at].state = to;
		any = true;
	}
	return any;
}

/*
 * Something else is needed: leave out long runs of words, then shorter ones, as
 * long as nothing changes.
 */
static bool shrink(struct redactor *d, const struct ow_regs *regs)
{
	size_t nr = d->seen.nr, size, at;
	int tries = MOST_TRIES;
	bool same;

	change_states(d, 0, nr, OW_READLOG_LEFT_OUT, OW_READLOG_KEPT);
	for (size = (nr + 1) / 2; size > 0; size /= 2) {
		for (at = 0; at < nr && tries > 0 && !is_tired(d); at += size) {
			if (!change_states(d, at, size, OW_READLOG_KEPT,
					   OW_READLOG_MAYBE))
				continue;
			if (!run_less(d, regs, &same))
				return false;
			change_states(d, at, size, OW_READLOG_MAYBE,
				      same ? OW_READLOG_LEFT_OUT :
					     OW_READLOG_KEPT);
			tries--;
		}
	}
	return run_less(d, regs, &same);
}

static bool choose_memory(struct redactor *d, const struct ow_regs *regs)
{
	bool same;

	if (!run_choice(d, regs, CHOOSE_CODE, &same))
		return false;
	if (!same && !run_choice(d, regs, CHOOSE_STACK, &same))
		return false;
	return same || shrink(d, regs);
}

/* Leave out one register after another, as long as nothing changes. */
static bool choose_regs(struct redactor *d, struct ow_regs *regs)
{
	const struct ow_arch *arch = d->c->target.arch;
	uint64_t never = (uint64_t)1 << arch->pc | (uint64_t)1 << arch->sp;
	uint64_t all = regs->known, bit;

	regs->known = all & never;
	if (!run(d, &d->less, regs))
		return false;
	if (is_same(&d->whole, &d->less))
		return true;
	regs->known = all;
	for (bit = 1; bit && bit <= all && !is_tired(d); bit <<= 1) {
		if (!(all & bit) || never & bit)
			continue;
		regs->known &= ~bit;
		if (!run(d, &d->less, regs))
			return false;
		if (!is_same(&d->whole, &d->less))
			regs->known |= bit;
	}
	return true;
}

/* What is to be reached, by all that there is. */
static bool run_whole(struct redactor *d, size_t i)
{
	struct ow_capture_thread *t = &d->c->threads[i];

	return run_on(d, &d->whole, &d->c->target, &t->stack, &t->regs);
}

/* What is read on the way. */
static bool run_noting(struct redactor *d, size_t i)
{
	struct ow_capture_thread *t = &d->c->threads[i];

	d->reader.stack = &t->stack;
	d->reader.only = NULL;
	d->reader.notes = &d->seen;
	if (!run(d, &d->less, &t->regs) || d->seen.failed)
		return false;
	d->reader.notes = NULL;
	ow_readlog_sort(&d->seen);
	return true;
}

static bool take_thread(struct redactor *d, size_t i, uint64_t *known_ret)
{
	struct ow_regs regs = d->c->threads[i].regs;
	const struct ow_readlog_entry *e;
	size_t k;

	d->tried = 0;
	d->thread_begun_ns = ow_cpu_ns();
	if (!run_noting(d, i) || !run_whole(d, i) || !choose_memory(d, &regs) ||
	    !choose_regs(d, &regs))
		return false;
	*known_ret = regs.known;
	for (k = 0; k < d->seen.nr; k++) {
		e = &d->seen.list[k];
		if (e->state == OW_READLOG_KEPT)
			ow_readlog_add(&d->kept, e->addr, e->bytes, e->size);
	}
	return !d->kept.failed;
}

/* With all that is kept, and nothing else, is every walk what it was? */
static int prove(struct redactor *d, const struct ow_redaction *kept,
		 struct ow_error *err)
{
	struct ow_regs regs;
	size_t i;

	for (i = 0; i < d->c->nr_threads; i++) {
		if (!d->c->threads[i].info.captured)
			continue;
		regs = d->c->threads[i].regs;
		regs.known = kept->known[i];
		if (!run_whole(d, i))
			return ow_fail(err, OW_CODE_MEMORY, "out of memory");
		d->reader.only = &kept->pieces;
		if (!run(d, &d->less, &regs))
			return ow_fail(err, OW_CODE_MEMORY, "out of memory");
		if (!is_same(&d->whole, &d->less))
			return ow_fail(err, OW_CODE_UNSUPPORTED,
				       "the stack of thread %d overlaps "
				       "another's that was copied at another "
				       "moment: it can't be redacted",
				       d->c->threads[i].info.tid);
	}
	return 0;
}

static int take_threads(struct redactor *d, struct ow_redaction *ret,
			struct ow_error *err)
{
	size_t i;

	for (i = 0; i < d->c->nr_threads; i++) {
		if (!d->c->threads[i].info.captured)
			continue;
		if (d->walked > MOST_WALKED ||
		    ow_cpu_ns() - d->begun_ns > MOST_NS)
			return ow_fail(err, OW_CODE_TIMEOUT,
				       "the stacks of %zu threads take too "
				       "long to be redacted",
				       d->c->nr_threads);
		if (!take_thread(d, i, &ret->known[i]))
			return ow_fail(err, OW_CODE_MEMORY, "out of memory");
	}
	ow_readlog_sort(&d->kept);
	if (!ow_pieces_join(&ret->pieces, &d->kept))
		return ow_fail(err, OW_CODE_MEMORY, "out of memory");
	return prove(d, ret, err);
}

int ow_redact(struct ow_capture *c, struct ow_redaction *ret,
	      struct ow_error *err)
{
	struct redactor *d = calloc(1, sizeof(*d));
	int failed;

	*ret = (struct ow_redaction){ 0 };
	ret->known = calloc(c->nr_threads + 1, sizeof(*ret->known));
	if (!d || !ret->known) {
		failed = ow_fail(err, OW_CODE_MEMORY, "out of memory");
	} else {
		d->c = c;
		d->begun_ns = ow_cpu_ns();
		d->cfi_share = ow_effort_left(&c->cfi_work) / OW_CFIWORK_SHARES;
		c->target.cfi_left = &d->cfi_left;
		d->reader.c = c;
		d->reader.target = c->target;
		d->reader.target.mem.read = read_memory;
		failed = take_threads(d, ret, err);
		c->target.cfi_left = NULL;
		free(d->whole.frames);
		free(d->less.frames);
		ow_readlog_deinit(&d->seen);
		ow_readlog_deinit(&d->kept);
		ow_pieces_deinit(&d->some);
	}
	free(d);
	if (failed)
		ow_redaction_deinit(ret);
	return failed;
}

void ow_redaction_deinit(struct ow_redaction *r)
{
	ow_pieces_deinit(&r->pieces);
	free(r->known);
	*r = (struct ow_redaction){ 0 };
}
