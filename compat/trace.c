// SPDX-License-Identifier: BSD-2-Clause
#include "trace.h"

#include "traceplace.h"
#include "unwrow.h"
#include "unwstep.h"

#define MAX_WRONG 2 /* guesses, before a trace does without */

/* One frame on the way. */
struct trace {
	uint64_t ip, sp, fp, ra;
	bool is_return;
	struct ow_extent window;
	struct ow_unw unw; /* for what isn't known yet; object and tag hold on */
};

/* Find the row, and remember what it comes to. */
static uint64_t look_up(struct trace *t, uint64_t addr, struct ow_scratch *s)
{
	struct ow_saved_row saved = { .flags = 0 };
	struct ow_row row, trampoline;
	uint64_t data = 0, tag;
	bool is_kept;

	t->unw.as = &ow_local_space;
	t->unw.ip = t->ip;
	t->unw.is_return = t->is_return;
	t->unw.value = t->unw.memory = t->unw.reg = 0;
	if (ow_unw_find_row(&t->unw, s, &row, &tag, &is_kept) || !is_kept)
		return 0;
	if (row.flags & OW_ROW_SIGNAL) {
		saved.flags = OW_SAVED_TRAMPOLINE;
		if (ow_unw_at_trampoline(&t->unw, &trampoline))
			data = ow_place_encode(&saved);
	} else if (ow_saved_row_make(&saved, ow_machine.arch, &row)) {
		data = ow_place_encode(&saved);
	}
	if (tag == 0)
		data |= OW_PLACE_LASTING;
	ow_place_remember(addr, data, tag);
	return data;
}

static __attribute__((noinline)) uint64_t look_up_alone(struct trace *t,
							uint64_t addr)
{
	struct ow_scratch own;

	return look_up(t, addr, &own);
}

/* What is known of an address, whose object may be unloaded; or find it. */
static __attribute__((noinline)) uint64_t ask(struct trace *t, uint64_t addr)
{
	struct ow_scratch *s;
	uint64_t data;

	if (ow_place_find(addr, ow_unw_tag(&t->unw, addr), &data) &&
	    data & OW_PLACE_KIND)
		return data;
	s = ow_scratch_take(NULL);
	if (!s)
		return look_up_alone(t, addr);
	data = look_up(t, addr, s);
	ow_scratch_give(s);
	return data;
}

static bool in_window(struct trace *t, uint64_t low, uint64_t high)
{
	if (low >= t->window.start && high <= t->window.end)
		return true;
	if (t->sp < t->window.start || t->sp >= t->window.end)
		t->window = ow_local_extent(t->sp);
	return low >= t->window.start && high > low &&
	       ow_local_stretch(&t->window, high);
}

/* Out of a signal's frame. */
static bool leave_signal(struct trace *t)
{
	const struct ow_sigframe *sf = ow_machine.arch->sigframes;
	uint64_t at = t->sp, old_ip = t->ip, val;
	unsigned int i;

	if (!in_window(t, at, at + 512))
		return false;
	for (i = 0; i < sf->nr; i++) {
		val = ow_local_word(at + sf->rules[i].off);
		switch (sf->rules[i].slot) {
		case OW_M_PC: t->ip = val; break;
		case OW_M_FP: t->fp = val; break;
#if defined __aarch64__
		case OW_M_RA: t->ra = val; break;
#endif
		}
	}
	t->sp = ow_local_word(at + sf->sp_off);
	t->is_return = false;
	ow_local_enter(t->sp, at);
	return t->sp != at || t->ip != old_ip;
}

static bool leave_frame(struct trace *t, uint64_t data)
{
	uint64_t fp =
		ow_place_field(data, OW_PLACE_FP_SHIFT, OW_PLACE_SAVE_BITS);
	uint64_t ra =
		ow_place_field(data, OW_PLACE_RA_SHIFT, OW_PLACE_SAVE_BITS);
	uint64_t most = fp > ra ? fp : ra;
	uint64_t cfa = data & OW_PLACE_CFA_BY_FP ? t->fp : t->sp;

	cfa += 8 * ow_place_field(data, OW_PLACE_CFA_SHIFT, OW_PLACE_CFA_BITS);
	if (cfa < t->sp || (cfa == t->sp && t->is_return) ||
	    (most && !in_window(t, cfa - 8 * most, cfa)))
		return false;
	if (ra)
		t->ra = ow_local_word(cfa - 8 * ra);
	if (fp)
		t->fp = ow_local_word(cfa - 8 * fp);
	t->sp = cfa;
	t->ip = ow_machine_code(t->ra);
	t->is_return = true;
	return true;
}

/*
 * Up functions' frames that are known already, of objects that stay: the hot
 * loop, with all that it needs in registers.  Fills the buffer from n on, and
 * returns how far; t is then at the frame that is another kind of thing.
 */
static int run_known(struct trace *t, void **buffer, int n, int size)
{
	uint64_t sp = t->sp, fp = t->fp, ra = t->ra,
		 addr = t->ip - t->is_return;
	uint64_t low = t->window.start, high = t->window.end;
	uint64_t ip = t->ip, back = t->is_return, last_addr = 0;
	uint64_t data, cfa, fp_off, ra_off;
	struct ow_place *p = ow_place_pair(addr), *last = NULL;
	unsigned int wrong = 0;

	while (n < size) {
		if (!ow_place_read(p, addr, &data)) {
			p = ow_place_find(addr, 0, &data);
			if (!p)
				break;
			if (last)
				ow_place_guess(last, last_addr, p);
			wrong++;
		}
		cfa = (data & OW_PLACE_CFA_BY_FP ? fp : sp) +
		      8 * ow_place_field(data, OW_PLACE_CFA_SHIFT,
					 OW_PLACE_CFA_BITS);
		ra_off = 8 * ow_place_field(data, OW_PLACE_RA_SHIFT,
					    OW_PLACE_SAVE_BITS);
		fp_off = 8 * ow_place_field(data, OW_PLACE_FP_SHIFT,
					    OW_PLACE_SAVE_BITS);
		if ((data & (OW_PLACE_KIND | OW_PLACE_LASTING)) !=
			    (OW_PLACE_KIND_FRAME | OW_PLACE_LASTING) ||
		    cfa > high || cfa < sp + back || !ra_off ||
		    cfa - ra_off < low || cfa - fp_off < low)
			break;
		ra = ow_local_word(cfa - ra_off);
		if (fp_off)
			fp = ow_local_word(cfa - fp_off);
		sp = cfa;
		ip = ow_machine_code(ra);
		back = 1;
		if (ip == 0)
			break;
		buffer[n++] = (void *)(uintptr_t)ip;
		last = p;
		last_addr = addr;
		addr = ip - 1;
		p = wrong > MAX_WRONG ?
			    ow_place_pair(addr) :
			    &ow_places[ow_place_field(data, OW_PLACE_GUESS_SHIFT,
						      OW_PLACE_GUESS_BITS)];
	}
	t->ip = ip;
	t->sp = sp;
	t->fp = fp;
	t->ra = ra;
	t->is_return = back;
	return n;
}

/*
 * Go on as far as it is a matter of these few registers: buffer[0] is there.
 * Return how many addresses there are, or 0 if the rest takes all registers.
 */
static int run(struct trace *t, void **buffer, int size)
{
	uint64_t addr, data;
	int n = 1;

	for (;;) {
		n = run_known(t, buffer, n, size);
		if (n == size || t->ip == 0)
			return n;
		addr = t->ip - t->is_return;
		if (!ow_place_find(addr, 0, &data) ||
		    !(data & OW_PLACE_LASTING))
			data = ask(t, addr);
		if ((data & OW_PLACE_KIND) == OW_PLACE_KIND_END)
			return n;
		if ((data & OW_PLACE_KIND) == OW_PLACE_KIND_FRAME ?
			    !leave_frame(t, data) :
			    !(data & OW_PLACE_KIND_SIGNAL) || !leave_signal(t))
			return 0;
		if (t->ip == 0)
			return n;
		buffer[n++] = (void *)(uintptr_t)t->ip;
	}
}

/* The same with all registers. */
static int run_slowly(struct ow_unw *u, void **buffer, int size)
{
	int n = 1;

	while (n < size && ow_unw_step(u) > 0)
		buffer[n++] = (void *)(uintptr_t)u->ip;
	return n;
}

static __attribute__((noinline)) int
trace_slowly(void **buffer, int size, const struct ow_trace_regs *regs)
{
	struct ow_unw u = { .as = &ow_local_space,
			    .ip = regs->ip,
			    .sp = regs->sp,
			    .is_return = true };
	unsigned int i;

	ow_unw_set_value(&u, OW_M_PC, regs->ip);
	ow_unw_set_value(&u, OW_M_RA, regs->ip);
	ow_unw_set_value(&u, OW_M_SP, regs->sp);
	ow_unw_set_value(&u, OW_M_FP, regs->fp);
	for (i = 0; i < OW_M_NR_SAVED; i++)
		ow_unw_set_value(&u, ow_machine.saved[i], regs->saved[i]);
	return run_slowly(&u, buffer, size);
}

static void begin(struct trace *t, uint64_t ip, uint64_t sp, uint64_t fp,
		  uint64_t ra, bool is_return)
{
	t->ip = ow_machine_code(ip);
	t->sp = sp;
	t->fp = fp;
	t->ra = ra;
	t->is_return = is_return;
	if (!is_return)
		ow_local_enter(sp, (uintptr_t)__builtin_frame_address(0));
	t->window = ow_local_extent(sp);
	if (t->window.end - sp < 4096)
		ow_local_stretch(&t->window, t->window.end + 1);
	t->unw.object = (struct ow_extent){ 0, 0 };
	t->unw.window = (struct ow_extent){ 0, 0 };
}

int ow_trace_begin(void **buffer, int size, const struct ow_trace_regs *regs)
{
	struct trace t;
	int n;

	if (size <= 0)
		return 0;
	begin(&t, regs->ip, regs->sp, regs->fp, regs->ip, true);
	buffer[0] = (void *)(uintptr_t)t.ip;
	n = run(&t, buffer, size);
	return n ? n : trace_slowly(buffer, size, regs);
}

static uint64_t greg(const unw_context_t *uc, unsigned int slot)
{
	return ow_local_word((uintptr_t)uc + ow_machine.gregs[slot]);
}

__attribute__((visibility("default"))) int
unw_backtrace2(void **buffer, int size, unw_context_t *uc, int flag)
{
	struct ow_unw u;
	struct trace t;
	int n;

	if (size <= 0 || !uc)
		return 0;
	begin(&t, greg(uc, OW_M_PC), greg(uc, OW_M_SP), greg(uc, OW_M_FP),
	      greg(uc, OW_M_RA), !(flag & UNW_INIT_SIGNAL_FRAME));
	buffer[0] = (void *)(uintptr_t)t.ip;
	n = run(&t, buffer, size);
	if (n || ow_unw_init_local(&u, uc, flag))
		return n;
	return run_slowly(&u, buffer, size);
}
