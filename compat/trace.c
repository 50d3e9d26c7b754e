// SPDX-License-Identifier: BSD-2-Clause
#include "trace.h"

#include "unwrow.h"
#include "unwstep.h"

#define NR_PLACES 8192
#define BIT(slot) ((uint64_t)1 << (slot))

/*
 * Where the caller's ip, sp and frame pointer are: one word for each address.
 * Threads and signal handlers read and write these places at any time, so check
 * is made of the address, of the data, and of the object's tag if it could be
 * unloaded: what doesn't match isn't used.
 */
struct place {
	uint64_t check, data;
};

enum {
	/* Bits 0 and 1 of the data; 0: nothing that would fit in here. */
	KIND = 3,
	KIND_FRAME = 1,
	KIND_SIGNAL = 2,
	KIND_END = 3,

	CFA_BY_FP = 4,
	LASTING = 8, /* the object is never unloaded */

	/* Words; those of saves are below the CFA, and 0 if it isn't saved. */
	CFA_SHIFT = 4,
	CFA_BITS = 20,
	FP_SHIFT = 24,
	RA_SHIFT = 40,
	SAVE_BITS = 16,
};

static struct place places[NR_PLACES];

/* One frame on the way. */
struct trace {
	uint64_t ip, sp, fp, ra;
	bool is_return;
	struct ow_extent window;
	struct ow_unw unw; /* for what isn't known yet; object and tag hold on */
};

static struct place *place_of(uint64_t addr)
{
	return &places[addr * 0x9e3779b97f4a7c15ULL >> 51];
}

static uint64_t mix(uint64_t data)
{
	return data * 0xd1342543de82ef95ULL;
}

static uint64_t field(uint64_t data, unsigned int shift, unsigned int bits)
{
	return data >> shift & ((1U << bits) - 1);
}

/* A row in few bits; without a kind if that isn't possible. */
static uint64_t encode(const struct ow_saved_row *s)
{
	uint64_t words = (uint64_t)(int64_t)s->cfa_off / 8, fp = 0;
	unsigned int i;

	if (s->flags & OW_SAVED_OUTERMOST)
		return KIND_END;
	if (s->flags & OW_SAVED_TRAMPOLINE)
		return KIND_SIGNAL;
	if (s->cfa_off < 0 || s->cfa_off % 8 || words >> CFA_BITS ||
	    (s->cfa_reg != OW_M_SP && s->cfa_reg != OW_M_FP) ||
	    (OW_M_RA == OW_M_PC && !s->ra_words))
		return 0;
	for (i = 0; i < s->nr; i++)
		if (s->saves[i].slot == OW_M_FP)
			fp = s->saves[i].words;
	return KIND_FRAME | (s->cfa_reg == OW_M_FP ? CFA_BY_FP : 0) |
	       words << CFA_SHIFT | fp << FP_SHIFT |
	       (uint64_t)s->ra_words << RA_SHIFT;
}

/* Find the row, and remember what it comes to. */
static uint64_t look_up(struct trace *t, uint64_t addr, struct ow_scratch *s)
{
	struct place *p = place_of(addr);
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
			data = encode(&saved);
	} else if (ow_saved_row_make(&saved, ow_machine.arch, &row)) {
		data = encode(&saved);
	}
	if (tag == 0)
		data |= LASTING;
	__atomic_store_n(&p->check, addr ^ mix(data) ^ tag, __ATOMIC_RELAXED);
	__atomic_store_n(&p->data, data, __ATOMIC_RELAXED);
	return data;
}

static __attribute__((noinline)) uint64_t look_up_alone(struct trace *t,
							uint64_t addr)
{
	struct ow_scratch own;

	return look_up(t, addr, &own);
}

/* What is known of an address whose object may be unloaded; or find it. */
static __attribute__((noinline)) uint64_t ask(struct trace *t, uint64_t addr,
					      uint64_t check, uint64_t data)
{
	struct ow_scratch *s;

	if ((data & KIND) && !(data & LASTING) &&
	    (check ^ mix(data) ^ ow_unw_tag(&t->unw, addr)) == addr)
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
	return t->sp != at || t->ip != old_ip;
}

static bool leave_frame(struct trace *t, uint64_t data)
{
	uint64_t fp = field(data, FP_SHIFT, SAVE_BITS);
	uint64_t ra = field(data, RA_SHIFT, SAVE_BITS);
	uint64_t most = fp > ra ? fp : ra;
	uint64_t cfa = data & CFA_BY_FP ? t->fp : t->sp;

	cfa += 8 * field(data, CFA_SHIFT, CFA_BITS);
	if (cfa < t->sp || (cfa == t->sp && t->is_return) ||
	    (most && !in_window(t, cfa - 8 * most, cfa)))
		return false;
	if (ra)
		t->ra = ow_local_word(cfa - 8 * ra);
	if (fp)
		t->fp = ow_local_word(cfa - 8 * fp);
	t->sp = cfa;
	t->ip = t->ra & ow_machine.arch->pc_mask;
	t->is_return = true;
	return true;
}

/*
 * Go on as far as it is a matter of these few registers: buffer[0] is there.
 * Return how many addresses there are, or 0 if the rest takes all registers.
 */
static int run(struct trace *t, void **buffer, int size)
{
	const struct place *p;
	uint64_t addr, check, data;
	int n = 1;

	while (n < size) {
		addr = t->ip - t->is_return;
		p = place_of(addr);
		check = __atomic_load_n(&p->check, __ATOMIC_RELAXED);
		data = __atomic_load_n(&p->data, __ATOMIC_RELAXED);
		if ((check ^ mix(data)) != addr || !(data & LASTING))
			data = ask(t, addr, check, data);
		if ((data & KIND) == KIND_END)
			return n;
		if ((data & KIND) == KIND_FRAME ? !leave_frame(t, data) :
						  !(data & KIND_SIGNAL) ||
							  !leave_signal(t))
			return 0;
		if (t->ip == 0)
			return n;
		buffer[n++] = (void *)(uintptr_t)t->ip;
	}
	return n;
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
	t->ip = ip & ow_machine.arch->pc_mask;
	t->sp = sp;
	t->fp = fp;
	t->ra = ra;
	t->is_return = is_return;
	t->window = ow_local_extent(sp);
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
