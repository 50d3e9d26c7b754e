// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#include "orc.h"

#include "cursor.h"
#include "err.h"

#define ENTRY_SIZE 6
#define NONE       0xff

/* Slots of x86-64. */
enum {
	RBX = 3,
	RBP = 6,
	RSP = 7,
	R12 = 12,
	RIP = 16
};

/* Values of sp_reg and bp_reg. */
enum {
	REG_UNDEFINED,
	REG_PREV_SP,
	REG_BP = 4,
	REG_BP_INDIRECT = 8,
	REG_SP_INDIRECT,
	NR_REGS,
};

static const uint8_t sp_slots[NR_REGS] = { NONE, NONE, 1,  5,   RBP,
					   RSP,  10,   13, RBP, RSP };

enum type {
	END,
	CALL,
	REGS,
	REGS_PARTIAL,
	NR_TYPES
};

/* struct pt_regs by words: r15 to rbx, r11 to rdi, orig_rax, rip, ..., rsp */
static const uint8_t pt_regs[] = { 15, 14,   13,  12,   RBP,  RBX, 11,
				   10, 9,    8,   0,    2,    1,   4,
				   5,  NONE, RIP, NONE, NONE, RSP };
/* What the CPU pushes: rip, cs, rflags, rsp */
static const uint8_t iret_frame[] = { RIP, NONE, NONE, RSP };

struct entry {
	int16_t sp_off, bp_off;
	uint8_t sp_reg, bp_reg;
	uint8_t type;
	bool is_signal;
};

static uint64_t start_of(const struct ow_orc *orc, size_t i)
{
	int32_t rel = (int32_t)ow_little_endian(orc->ips + 4 * i, 4);

	return orc->ips_vaddr + 4 * i + (uint64_t)(int64_t)rel;
}

/* The last entry that begins at vaddr or before it. */
static const uint8_t *find_entry(const struct ow_orc *orc, uint64_t vaddr)
{
	size_t low = 0, high = orc->nr, mid;

	while (low < high) {
		mid = low + (high - low) / 2;
		if (start_of(orc, mid) <= vaddr)
			low = mid + 1;
		else
			high = mid;
	}
	return low ? orc->entries + ENTRY_SIZE * (low - 1) : NULL;
}

/* Until 6.2: type of 2 bits, end.  Since: type of 3 bits, signal. */
static int read_entry(const struct ow_orc *orc, const uint8_t *at,
		      struct entry *ret)
{
	static const uint8_t old_types[4] = { CALL, REGS, REGS_PARTIAL, CALL };
	unsigned int bits = (unsigned int)ow_little_endian(at + 4, 2);
	unsigned int type = bits >> 8 & 7;

	ret->sp_off = (int16_t)ow_little_endian(at, 2);
	ret->bp_off = (int16_t)ow_little_endian(at + 2, 2);
	ret->sp_reg = bits & 15;
	ret->bp_reg = bits >> 4 & 15;
	if (orc->has_signal) {
		if (type == 0 || type > NR_TYPES)
			return -OW_ENOENT;
		ret->type = (uint8_t)(type - 1);
		ret->is_signal = bits >> 11 & 1;
		return 0;
	}
	ret->type = type & 4 ? END : old_types[type & 3];
	ret->is_signal = ret->type == REGS || ret->type == REGS_PARTIAL;
	return 0;
}

/* *rsp + off: the stack was switched, and the old sp is on the new one. */
static int make_indirect(const struct entry *e, struct ow_row *row,
			 uint8_t expr[OW_ORC_EXPR])
{
	if (e->sp_off < 0 || e->sp_off >= 1 << 14)
		return -OW_EFORMAT;
	expr[0] = OW_ORC_EXPR - 1;
	expr[1] = 0x70 + RSP; /* DW_OP_breg7 */
	expr[2] = 0;
	expr[3] = 0x06; /* DW_OP_deref */
	expr[4] = 0x23; /* DW_OP_plus_uconst */
	expr[5] = (uint8_t)(e->sp_off | 0x80);
	expr[6] = (uint8_t)(e->sp_off >> 7);
	row->cfa = (struct ow_rule){ .kind = OW_RULE_IS_EXPR };
	row->exprs = expr;
	row->exprs_size = OW_ORC_EXPR;
	return 0;
}

static int make_cfa(const struct entry *e, struct ow_row *row,
		    uint8_t expr[OW_ORC_EXPR])
{
	if (e->sp_reg == REG_UNDEFINED)
		return -OW_ENOENT;
	if (e->sp_reg >= NR_REGS || sp_slots[e->sp_reg] == NONE)
		return -OW_EFORMAT;
	if (e->sp_reg == REG_SP_INDIRECT)
		return make_indirect(e, row, expr);
	row->cfa = (struct ow_rule){ .kind = OW_RULE_REG,
				     .reg = sp_slots[e->sp_reg],
				     .off = e->sp_off };
	if (e->sp_reg == REG_BP_INDIRECT)
		row->cfa.kind = OW_RULE_AT_REG;
	return 0;
}

static void add_rule(struct ow_row *row, struct ow_rule *rules, uint8_t slot,
		     uint8_t kind, int32_t off)
{
	rules[row->nr++] = (struct ow_rule){ slot, kind, RBP, off };
}

static void add_words(struct ow_row *row, struct ow_rule *rules,
		      const uint8_t *slots, size_t nr)
{
	size_t i;

	for (i = 0; i < nr; i++)
		if (slots[i] != NONE)
			add_rule(row, rules, slots[i], OW_RULE_AT_CFA,
				 8 * (int32_t)i);
}

/* A call: other registers may have been saved anywhere. */
static void add_call(struct ow_row *row, struct ow_rule *rules)
{
	uint8_t slot;

	add_rule(row, rules, RIP, OW_RULE_AT_CFA, -8);
	add_rule(row, rules, RBX, OW_RULE_UNDEFINED, 0);
	for (slot = R12; slot < RIP; slot++)
		add_rule(row, rules, slot, OW_RULE_UNDEFINED, 0);
}

int ow_orc_row(const struct ow_orc *orc, uint64_t vaddr, struct ow_row *row,
	       struct ow_rule *rules, uint8_t expr[OW_ORC_EXPR])
{
	const uint8_t *at = find_entry(orc, vaddr);
	struct entry e;
	int err = at ? read_entry(orc, at, &e) : -OW_ENOENT;

	if (err)
		return err;
	*row = (struct ow_row){ .ra = RIP, .how = OW_HOW_ORC, .rules = rules };
	if (e.type == END) {
		row->flags = OW_ROW_OUTERMOST;
		return 0;
	}
	err = make_cfa(&e, row, expr);
	if (err)
		return err;
	if (e.is_signal)
		row->flags = OW_ROW_SIGNAL;
	if (e.type == REGS)
		add_words(row, rules, pt_regs, OW_ARRAY_SIZE(pt_regs));
	else if (e.type == REGS_PARTIAL)
		add_words(row, rules, iret_frame, OW_ARRAY_SIZE(iret_frame));
	else
		add_call(row, rules);
	if (e.type == REGS || e.bp_reg == REG_UNDEFINED)
		return 0;
	if (e.bp_reg != REG_PREV_SP && e.bp_reg != REG_BP)
		return -OW_EFORMAT;
	add_rule(row, rules, RBP,
		 e.bp_reg == REG_BP ? OW_RULE_AT_REG : OW_RULE_AT_CFA,
		 e.bp_off);
	return 0;
}
