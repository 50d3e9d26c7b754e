// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#include "expr.h"

#include "cursor.h"
#include "err.h"

/* DWARF 5, table 7.9. */
enum {
	OP_addr = 0x03,
	OP_deref = 0x06,
	OP_const1u = 0x08,
	OP_const1s = 0x09,
	OP_const2u = 0x0a,
	OP_const2s = 0x0b,
	OP_const4u = 0x0c,
	OP_const4s = 0x0d,
	OP_const8u = 0x0e,
	OP_const8s = 0x0f,
	OP_constu = 0x10,
	OP_consts = 0x11,
	OP_dup = 0x12,
	OP_drop = 0x13,
	OP_over = 0x14,
	OP_pick = 0x15,
	OP_swap = 0x16,
	OP_rot = 0x17,
	OP_abs = 0x19,
	OP_and = 0x1a,
	OP_div = 0x1b,
	OP_minus = 0x1c,
	OP_mod = 0x1d,
	OP_mul = 0x1e,
	OP_neg = 0x1f,
	OP_not = 0x20,
	OP_or = 0x21,
	OP_plus = 0x22,
	OP_plus_uconst = 0x23,
	OP_shl = 0x24,
	OP_shr = 0x25,
	OP_shra = 0x26,
	OP_xor = 0x27,
	OP_bra = 0x28,
	OP_eq = 0x29,
	OP_ge = 0x2a,
	OP_gt = 0x2b,
	OP_le = 0x2c,
	OP_lt = 0x2d,
	OP_ne = 0x2e,
	OP_skip = 0x2f,
	OP_lit0 = 0x30,
	OP_lit31 = 0x4f,
	OP_breg0 = 0x70,
	OP_breg31 = 0x8f,
	OP_bregx = 0x92,
	OP_deref_size = 0x94,
	OP_nop = 0x96,
	OP_call_frame_cfa = 0x9c,
};

bool ow_expr_take(struct ow_expr *x, uint32_t nr)
{
	if (x->few >= nr) {
		x->few -= nr;
		return true;
	}
	if (x->left < nr || (x->run_left && *x->run_left < nr))
		return false;
	x->left -= nr;
	if (x->run_left)
		*x->run_left -= nr;
	return true;
}

static int push(struct ow_expr *x, uint64_t value)
{
	if (x->depth == OW_EXPR_DEPTH)
		return -OW_ELIMIT;
	x->stack[x->depth++] = value & ow_arch_mask(x->arch);
	return 0;
}

/* The entry that lies n below the top. */
static int peek(const struct ow_expr *x, uint64_t n, uint64_t *ret)
{
	if (n >= x->depth)
		return -OW_EFORMAT;
	*ret = x->stack[x->depth - 1 - n];
	return 0;
}

static int push_register(struct ow_expr *x, uint64_t dwarf, int64_t off)
{
	uint8_t slot = ow_arch_slot(x->arch, dwarf);

	if (slot == OW_SLOT_NONE)
		return -OW_EUNSUPPORTED;
	if (!ow_regs_known(x->regs, slot))
		return -OW_EUNKNOWN;
	return push(x, x->regs->val[slot] + (uint64_t)off);
}

static int push_pick(struct ow_expr *x, uint64_t n)
{
	uint64_t value;
	int err = peek(x, n, &value);

	return err ? err : push(x, value);
}

static int deref(struct ow_expr *x, uint64_t size)
{
	uint64_t addr, value;
	int err = peek(x, 0, &addr);

	if (err)
		return err;
	if (size == 0 || size > x->arch->word)
		return -OW_EFORMAT;
	if (!ow_expr_take(x, OW_EXPR_READ))
		return -OW_ELIMIT;
	err = ow_memory_word(x->mem, addr, size, &value);
	if (err) {
		x->fault = addr;
		return err;
	}
	x->stack[x->depth - 1] = value;
	return 0;
}

static int64_t as_signed(const struct ow_expr *x, uint64_t value)
{
	return x->arch->word == 8 ? (int64_t)value : (int32_t)value;
}

static int unary(struct ow_expr *x, uint8_t op)
{
	uint64_t *top;

	if (x->depth < 1)
		return -OW_EFORMAT;
	top = &x->stack[x->depth - 1];
	if (op == OP_not)
		*top = ~*top;
	else if (op == OP_neg || as_signed(x, *top) < 0)
		*top = -*top;
	*top &= ow_arch_mask(x->arch);
	return 0;
}

static uint64_t shift(const struct ow_expr *x, uint8_t op, uint64_t a,
		      uint64_t b)
{
	unsigned int bits = x->arch->word * 8;
	int64_t s = as_signed(x, a);

	if (op == OP_shra)
		return (uint64_t)(s >> (b < bits ? b : bits - 1));
	if (b >= bits)
		return 0;
	return op == OP_shl ? a << b : a >> b;
}

static int divide(const struct ow_expr *x, uint8_t op, uint64_t a, uint64_t b,
		  uint64_t *ret)
{
	int64_t s = as_signed(x, a), t = as_signed(x, b);

	if (b == 0)
		return -OW_EFORMAT;
	if (op == OP_mod)
		*ret = a % b; /* unsigned, as gdb and libunwind have it */
	else
		*ret = t == -1 ? -a : (uint64_t)(s / t);
	return 0;
}

/* Two operands; b is the top. */
static int binary(struct ow_expr *x, uint8_t op)
{
	uint64_t a, b, value = 0;
	int64_t s, t;
	int err = 0;

	if (x->depth < 2)
		return -OW_EFORMAT;
	b = x->stack[x->depth - 1];
	a = x->stack[x->depth - 2];
	s = as_signed(x, a);
	t = as_signed(x, b);
	switch (op) {
	case OP_and: value = a & b; break;
	case OP_or: value = a | b; break;
	case OP_xor: value = a ^ b; break;
	case OP_plus: value = a + b; break;
	case OP_minus: value = a - b; break;
	case OP_mul: value = a * b; break;
	case OP_div:
	case OP_mod: err = divide(x, op, a, b, &value); break;
	case OP_shl:
	case OP_shr:
	case OP_shra: value = shift(x, op, a, b); break;
	case OP_eq: value = s == t; break;
	case OP_ne: value = s != t; break;
	case OP_ge: value = s >= t; break;
	case OP_gt: value = s > t; break;
	case OP_le: value = s <= t; break;
	case OP_lt: value = s < t; break;
	}
	if (err)
		return err;
	x->depth--;
	x->stack[x->depth - 1] = value & ow_arch_mask(x->arch);
	return 0;
}

static int rearrange(struct ow_expr *x, uint8_t op)
{
	unsigned int need = op == OP_rot ? 3 : op == OP_swap ? 2 : 1;
	uint64_t *top, first;

	if (x->depth < need)
		return -OW_EFORMAT;
	top = &x->stack[x->depth - 1];
	first = top[0];
	switch (op) {
	case OP_drop: x->depth--; break;
	case OP_swap:
		top[0] = top[-1];
		top[-1] = first;
		break;
	case OP_rot:
		top[0] = top[-1];
		top[-1] = top[-2];
		top[-2] = first;
		break;
	}
	return 0;
}

/* DW_OP_skip and DW_OP_bra: a signed 2-byte way to go from behind it. */
static int jump(struct ow_expr *x, uint8_t op, struct ow_cursor *c,
		const uint8_t *code)
{
	int16_t way = (int16_t)ow_cursor_uint(c, 2);

	if (op == OP_bra) {
		if (x->depth < 1)
			return -OW_EFORMAT;
		if (x->stack[--x->depth] == 0)
			return 0;
	}
	if (c->bad || way < code - c->pos || way > c->end - c->pos)
		return -OW_EFORMAT;
	c->pos += way;
	return 0;
}

static int push_const(struct ow_expr *x, uint8_t op, struct ow_cursor *c)
{
	unsigned int size = 1U << ((op - OP_const1u) / 2);
	unsigned int unused = 64 - 8 * size;
	uint64_t value = ow_cursor_uint(c, size);

	if ((op - OP_const1u) % 2)
		value = (uint64_t)((int64_t)(value << unused) >> unused);
	return push(x, value);
}

static int add_uconst(struct ow_expr *x, struct ow_cursor *c)
{
	uint64_t addend = ow_cursor_uleb(c);

	if (x->depth < 1)
		return -OW_EFORMAT;
	x->stack[x->depth - 1] += addend;
	x->stack[x->depth - 1] &= ow_arch_mask(x->arch);
	return 0;
}

static int operate(struct ow_expr *x, uint8_t op, struct ow_cursor *c,
		   const uint8_t *code)
{
	uint64_t reg;

	if (op >= OP_lit0 && op <= OP_lit31)
		return push(x, op - OP_lit0);
	if (op >= OP_breg0 && op <= OP_breg31)
		return push_register(x, op - OP_breg0, ow_cursor_sleb(c));
	if (op >= OP_const1u && op <= OP_const8s)
		return push_const(x, op, c);
	switch (op) {
	case OP_nop: return 0;
	case OP_addr:
		return push(x, ow_cursor_uint(c, x->arch->word) + x->bias);
	case OP_constu: return push(x, ow_cursor_uleb(c));
	case OP_consts: return push(x, ow_cursor_sleb(c));
	case OP_bregx:
		reg = ow_cursor_uleb(c);
		return push_register(x, reg, ow_cursor_sleb(c));
	case OP_call_frame_cfa:
		return x->has_cfa ? push(x, x->cfa) : -OW_EUNSUPPORTED;
	case OP_deref: return deref(x, x->arch->word);
	case OP_deref_size: return deref(x, ow_cursor_u8(c));
	case OP_dup: return push_pick(x, 0);
	case OP_over: return push_pick(x, 1);
	case OP_pick: return push_pick(x, ow_cursor_u8(c));
	case OP_drop:
	case OP_swap:
	case OP_rot: return rearrange(x, op);
	case OP_abs:
	case OP_neg:
	case OP_not: return unary(x, op);
	case OP_plus_uconst: return add_uconst(x, c);
	case OP_bra:
	case OP_skip: return jump(x, op, c, code);
	}
	if (op >= OP_and && op <= OP_ne)
		return binary(x, op);
	return -OW_EUNSUPPORTED;
}

int ow_expr_run(struct ow_expr *x, const uint8_t *code, uint64_t size,
		bool push_cfa, uint64_t *ret)
{
	struct ow_cursor c = { code, code + size, false };
	unsigned int steps = 0;
	int err;

	x->depth = 0;
	if (push_cfa)
		push(x, x->cfa);
	while (ow_cursor_more(&c)) {
		if (steps++ == OW_EXPR_STEPS || !ow_expr_take(x, 1))
			return -OW_ELIMIT;
		err = operate(x, ow_cursor_u8(&c), &c, code);
		if (err)
			return err;
	}
	if (c.bad)
		return -OW_EFORMAT;
	return peek(x, 0, ret);
}
