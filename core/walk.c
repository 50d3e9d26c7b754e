// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#include "walk.h"

#include "err.h"
#include "fallback.h"
#include "runbrief.h"
#include "trampoline.h"

#define CACHE_LINE 64 /* or more; fetching more often does no harm */
#define FETCH_SIZE 512

/* The end that each way to fail leads to. */
static const uint8_t ends[OW_ERR_HOSTED] = {
	[OW_EFORMAT] = OW_END_BAD_RULE, [OW_EUNSUPPORTED] = OW_END_UNSUPPORTED,
	[OW_EFAULT] = OW_END_FAULT,     [OW_ENOENT] = OW_END_NO_CFI,
	[OW_EUNKNOWN] = OW_END_UNKNOWN, [OW_ELIMIT] = OW_END_COSTLY,
};

void ow_walk_begin(struct ow_walk *w, const struct ow_target *target,
		   const struct ow_window *stack, struct ow_cache *cache,
		   const struct ow_regs *regs, struct ow_frame *frames,
		   unsigned int max)
{
	w->step.target = target;
	w->step.stack = stack ? *stack : (struct ow_window){ 0, 0, NULL };
	w->step.pc_mask = target->pc_mask ? target->pc_mask :
					    target->arch->pc_mask;
	w->step.fault = 0;
	w->step.expr.left = OW_EXPR_LEFT;
	w->cache = cache;
	if (regs != &w->regs)
		w->regs = *regs;
	w->frames = frames;
	w->nr = 0;
	w->max = max;
	w->end = OW_END_NOT_YET;
	w->err = 0;
	w->wanted = NULL;
	w->range = NULL;
	w->mark_at = 0;
	w->guessed = false;
	ow_finder_reset(&w->finder);
}

static void push_frame(struct ow_walk *w, uint8_t how, uint8_t flags)
{
	const struct ow_arch *arch = w->step.target->arch;

	w->frames[w->nr++] = (struct ow_frame){
		.pc = w->regs.val[arch->pc],
		.sp = w->regs.val[arch->sp],
		.how = how,
		.flags = flags,
	};
}

static enum ow_end fail(struct ow_walk *w, int err)
{
	w->err = err;
	return w->end = ends[-err];
}

/* The mapping that addr is in, which mostly is the last frame's. */
static const struct ow_range *find_range(struct ow_walk *w, uint64_t addr)
{
	const struct ow_range *r = w->range;

	if (!r || addr < r->start || addr >= r->end)
		w->range = r = ow_map_find(&w->step.target->map, addr);
	return r;
}

/* Is pc in code that could be running? */
static bool executable(struct ow_walk *w, uint64_t pc)
{
	return find_range(w, pc) != NULL;
}

/* The trampoline that a signal's handler returns to, if pc is in one. */
static bool trampoline_row(struct ow_walk *w)
{
	bool is_return = w->frames[w->nr - 1].flags & OW_FRAME_RETURN;

	return ow_trampoline_row(&w->step, &w->regs, is_return, &w->finder.row);
}

/* The row where CFI has none, in the range that was looked up last. */
static int fallback_row(struct ow_walk *w)
{
	return ow_fallback_row(&w->step, &w->regs, &w->frames[w->nr - 1],
			       w->range, &w->finder.row, w->finder.rules);
}

/* How a row was found, beside the errors. */
enum {
	FOUND = 0,
	WANTED = 1, /* its module has to be read first */
	CACHED = 2, /* it is in the cache now */
};

/*
 * Where a retpoline returns to what it is to call (Linux,
 * arch/x86/lib/retpoline.S), or a task that is new is switched to
 * (arch/x86/entry/entry_64.S, ret_from_fork), the return address is where code
 * begins, and in front of it ORC knows none: then that of its first instruction,
 * which isn't put in brief.
 */
OW_APART int entered_row(struct ow_walk *w, const struct ow_module *module)
{
	const struct ow_arch *arch = w->step.target->arch;
	const struct ow_row *row = &w->finder.row;
	uint64_t pc = w->regs.val[arch->pc];

	if (ow_find_ready_row(&w->finder, module, pc, NULL))
		return -OW_ENOENT;
	if (row->flags != OW_ROW_OUTERMOST &&
	    (row->flags || row->cfa.kind != OW_RULE_REG ||
	     row->cfa.reg != arch->sp || row->cfa.off != arch->word))
		return -OW_ENOENT;
	w->frames[w->nr - 1].flags &= (uint8_t)~OW_FRAME_RETURN;
	return OW_FIND_ROW;
}

/* Was the last frame's pc returned to, by a call in front of it? */
static bool is_returned_to(const struct ow_walk *w)
{
	return w->addr != w->regs.val[w->step.target->arch->pc];
}

/*
 * The row that is in the module's CFI alone.  What a table leaves to that may be
 * a trampoline: it is told by its code, with or without the CFI, which has an
 * expression a register.
 */
OW_APART int full_row(struct ow_walk *w, const struct ow_module *module)
{
	if (module->table && ow_trampoline_marked(&w->step, &w->regs, false) &&
	    trampoline_row(w))
		return OW_FIND_ROW;
	return ow_find_full_row(&w->finder, w->step.target, module);
}

/* The row in a module that is ready; as the halves of ow_find_row() return. */
static int module_row(struct ow_walk *w, const struct ow_module *module)
{
	struct ow_brief *place = NULL;
	int err;

	if (w->cache)
		place = ow_cache_place(w->cache, w->addr,
				       w->step.target->map.generation);
	err = ow_find_ready_row(&w->finder, module, w->addr, place);
	if (err == OW_FIND_FULL)
		err = full_row(w, module);
	if (err == -OW_EUNSUPPORTED && trampoline_row(w))
		return OW_FIND_ROW;
	if (err == -OW_ENOENT && module->orc && is_returned_to(w))
		return entered_row(w, module);
	return err;
}

/*
 * Have the CPU fetch the stack from sp on while a row is looked for: that it lay
 * in its cache when it was copied is some time ago.
 */
static void fetch_stack(const struct ow_walk *w)
{
	const struct ow_window *stack = &w->step.stack;
	uint64_t off = w->regs.val[w->step.target->arch->sp] - stack->start;
	uint64_t end = off + FETCH_SIZE;

	for (; off < end && off < stack->size; off += CACHE_LINE)
		__builtin_prefetch(stack->bytes + off);
}

/* Have the row that was found in the cache, if it may and can be there. */
static int cache_row(struct ow_walk *w, int found)
{
	/* A return address at the very end may be a trampoline's start.  That
	   isn't cached: the same addr may be a pc another time. */
	if (found == OW_FIND_ROW && w->finder.row.flags & OW_ROW_LAST) {
		if (is_returned_to(w) &&
		    ow_trampoline_marked(&w->step, &w->regs, true))
			trampoline_row(w);
		return FOUND;
	}
	if (found == OW_FIND_ROW &&
	    !(w->finder.brief &&
	      ow_brief_make(w->finder.brief, w->step.target->arch,
			    &w->finder.row)))
		return FOUND;
	ow_cache_take(w->cache, w->finder.brief, w->addr,
		      w->step.target->map.generation);
	return CACHED;
}

/* The row of the last frame found, by CFI or by what comes in its place. */
static int find_row(struct ow_walk *w)
{
	const struct ow_range *range = find_range(w, w->addr);
	struct ow_module *module = range ? range->module : NULL;
	int err = -OW_ENOENT;

	if (module && module->state == OW_MODULE_UNREAD) {
		w->wanted = module;
		return WANTED;
	}
	fetch_stack(w);
	if (module)
		err = module_row(w, module);
	if (err == -OW_ENOENT && !w->step.target->no_fallback)
		return fallback_row(w);
	return err < 0 ? err : cache_row(w, err);
}

/*
 * May the caller be on another stack, anywhere?  That of a signal frame may;
 * and a kernel's interrupts go to a stack of their own by a switch that ORC
 * tells of.
 */
static bool may_leave_stack(const struct ow_row *row)
{
	return row->flags & OW_ROW_SIGNAL ||
	       (row->how == OW_HOW_ORC && row->cfa.kind == OW_RULE_IS_EXPR);
}

/*
 * Did the step from the last frame come nearer to the stack's base?  A leaf that
 * saved nothing may leave sp where it was.
 */
static bool progressed(struct ow_walk *w)
{
	const struct ow_arch *arch = w->step.target->arch;
	const struct ow_frame *from = &w->frames[w->nr - 1];
	uint64_t pc = w->regs.val[arch->pc], sp = w->regs.val[arch->sp];

	if (may_leave_stack(&w->finder.row)) {
		if (pc == w->mark_pc && sp == w->mark_sp && w->mark_at)
			return false;
		/* Brent's way: compare with a frame, ever further behind. */
		if (w->nr >= 2 * w->mark_at) {
			w->mark_at = w->nr;
			w->mark_pc = pc;
			w->mark_sp = sp;
		}
		return pc != from->pc || sp != from->sp;
	}
	return sp > from->sp ||
	       (sp == from->sp && !(from->flags & OW_FRAME_RETURN) &&
		pc != from->pc);
}

/* What a frame pointer alone tells is less than what a rule does. */
static void forget_guesses(struct ow_walk *w)
{
	const struct ow_arch *arch = w->step.target->arch;
	uint64_t keep = (uint64_t)1 << arch->fp | (uint64_t)1 << arch->pc;

	/* Where the callee pushes nothing of its own accord, the record may
	   lie anywhere in its frame, and doesn't tell the caller's sp. */
	if (arch->ra == arch->pc)
		keep |= (uint64_t)1 << arch->sp;
	w->regs.known &= keep;
}

/*
 * Where a frame pointer led over code that tells nothing, other registers are
 * lost; but who keeps frame pointers can be followed by them.
 */
static int step_up(struct ow_walk *w)
{
	const struct ow_target *t = w->step.target;
	const struct ow_row *row = &w->finder.row;
	int err = ow_step(&w->step, row, &w->regs);

	if (err != -OW_EUNKNOWN || !t->keeps_fp || row->how == OW_HOW_FP)
		return err;
	find_range(w, w->regs.val[t->arch->pc]);
	err = fallback_row(w);
	if (err)
		return err;
	if (!(row->flags & OW_ROW_OUTERMOST))
		return ow_step(&w->step, row, &w->regs);
	/* A frame pointer of zero stands for a pc of zero. */
	w->regs.val[t->arch->pc] = 0;
	return 0;
}

/* Return true if the row finds the caller by an sp that is a guess, or by fp. */
static bool is_guess(const struct ow_walk *w, const struct ow_row *row)
{
	uint8_t sp = w->step.target->arch->sp;

	if (row->how == OW_HOW_FP || row->how == OW_HOW_CALL)
		return true;
	return w->guessed &&
	       (row->cfa.kind == OW_RULE_IS_EXPR || row->cfa.reg == sp);
}

/*
 * The caller in w->regs was found by a guess: return true if it can be one.
 * Where functions align their stacks, a frame pointer tells a wrong sp of the
 * caller: what rows find by that sp is a guess, too, until a row goes by another
 * register.
 */
OW_APART bool is_believed(struct ow_walk *w, const struct ow_row *row)
{
	uint64_t pc = w->regs.val[w->step.target->arch->pc];

	w->guessed = !(row->flags & OW_ROW_SIGNAL) && row->how != OW_HOW_CALL;
	if (row->flags & OW_ROW_SIGNAL)
		return executable(w, pc);
	return ow_fallback_may_call(&w->step, row, &w->regs,
				    find_range(w, pc - 1));
}

OW_APART enum ow_end take_step(struct ow_walk *w)
{
	const struct ow_arch *arch = w->step.target->arch;
	const struct ow_row *row = &w->finder.row;
	uint8_t flags = row->flags & OW_ROW_SIGNAL ? 0 : OW_FRAME_RETURN;
	bool guess;
	int err;

	/* A kernel's entries are no trampolines. */
	if (row->flags & OW_ROW_SIGNAL && row->how != OW_HOW_ORC)
		w->frames[w->nr - 1].flags |= OW_FRAME_SIGNAL;
	if (row->flags & OW_ROW_OUTERMOST)
		return w->end = OW_END_OUTERMOST;
	err = step_up(w);
	if (err)
		return fail(w, err);
	guess = is_guess(w, row);
	if (w->regs.val[arch->pc] == 0 && flags & OW_FRAME_RETURN)
		return w->end = OW_END_OUTERMOST;
	/* Where the kernel was entered, its stack begins. */
	if (row->flags & OW_ROW_SIGNAL &&
	    w->regs.val[arch->pc] < w->step.target->kernel_start)
		return w->end = OW_END_OUTERMOST;
	if (!progressed(w))
		return w->end = OW_END_CYCLE;
	if (!guess)
		w->guessed = false;
	else if (!is_believed(w, row))
		return fail(w, -OW_ENOENT);
	if (row->how == OW_HOW_FP)
		forget_guesses(w);
	push_frame(w, row->how, flags);
	return OW_END_NOT_YET;
}

/*
 * Go as far as cached rows lead in the usual way; and return the row, if it is
 * cached, of the last frame, from where they don't.
 */
OW_APART const struct ow_brief *run_cached(struct ow_walk *w)
{
	struct ow_run run = {
		.step = &w->step,
		.stack = &w->step.stack,
		.cache = w->cache,
		.regs = &w->regs,
		.frame = &w->frames[w->nr - 1],
		.limit = &w->frames[w->max - 1],
	};

	ow_run_brief(&run, ow_word_there);
	w->nr = (unsigned int)(run.frame - w->frames) + 1;
	return run.row;
}

/* A step by a row that has to be looked for; or the row in the cache. */
OW_APART enum ow_end look_up(struct ow_walk *w)
{
	int err = find_row(w);

	/* The step in brief is the shorter one, if it can be taken. */
	if (err == CACHED)
		return OW_END_NOT_YET;
	if (err == FOUND)
		return take_step(w);
	if (err == WANTED)
		return OW_END_WANT;
	if (err == -OW_ENOENT && !executable(w, w->addr))
		return w->end = OW_END_NO_MODULE;
	return fail(w, err);
}

enum ow_end ow_walk_advance(struct ow_walk *w)
{
	const struct ow_brief *b = NULL;

	if (w->cache && !w->guessed)
		b = run_cached(w);
	if (w->nr == w->max)
		return w->end = OW_END_LIMIT;
	w->addr = ow_row_addr(&w->frames[w->nr - 1]);
	if (w->cache && w->guessed)
		b = ow_cache_get(w->cache, w->addr,
				 w->step.target->map.generation);
	if (!b)
		return look_up(w);
	ow_brief_row(b, w->step.target->arch, &w->finder.row, w->finder.rules);
	return take_step(w);
}

void ow_walk_first(struct ow_walk *w)
{
	if (w->max == 0)
		w->end = OW_END_LIMIT;
	else
		push_frame(w, OW_HOW_REGS, 0);
}

enum ow_end ow_walk_run(struct ow_walk *w)
{
	enum ow_end end;

	w->range = NULL; /* the map may have changed since */
	if (w->nr == 0)
		ow_walk_first(w);
	for (end = w->end; end == OW_END_NOT_YET;)
		end = ow_walk_advance(w);
	return end;
}
