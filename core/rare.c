// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#include "rare.h"

#include "cursor.h"
#include "err.h"

_Static_assert((int)OW_RARE_UNDEFINED == (int)OW_RULE_UNDEFINED &&
		       (int)OW_RARE_IS_EXPR == (int)OW_RULE_IS_EXPR,
	       "kinds of rules are the same here and there");
_Static_assert((int)OW_RARE_SIGNAL == (int)OW_ROW_SIGNAL &&
		       (int)OW_RARE_OUTERMOST == (int)OW_ROW_OUTERMOST &&
		       (int)OW_RARE_LAST == (int)OW_ROW_LAST,
	       "flags, too");

#define ALL_FLAGS (OW_RARE_SIGNAL | OW_RARE_OUTERMOST | OW_RARE_LAST)

/*
 * Operations that may be used (DWARF 5, table 7.9), and their operands: none,
 * that many bytes, u a ULEB128, s an SLEB128, b a register's SLEB128.
 */
static const struct {
	uint8_t first, last;
	char operand;
} allowed[] = {
	{ 0x06, 0x06, '-' }, /* deref */
	{ 0x08, 0x09, '1' }, /* const1u, const1s */
	{ 0x0a, 0x0b, '2' }, { 0x0c, 0x0d, '4' }, { 0x0e, 0x0f, '8' },
	{ 0x10, 0x10, 'u' }, { 0x11, 0x11, 's' }, /* constu, consts */
	{ 0x12, 0x14, '-' },                      /* dup, drop, over */
	{ 0x16, 0x17, '-' },                      /* swap, rot */
	{ 0x19, 0x22, '-' },                      /* abs to plus */
	{ 0x23, 0x23, 'u' },                      /* plus_uconst */
	{ 0x24, 0x27, '-' },                      /* shl to xor */
	{ 0x29, 0x2e, '-' },                      /* eq to ne */
	{ 0x30, 0x4f, '-' },                      /* lit0 to lit31 */
	{ 0x70, 0x8f, 'b' },                      /* breg0 to breg31 */
	{ 0x96, 0x96, '-' },                      /* nop */
};

#define OP_breg0 0x70

int ow_rare_open(struct ow_rare *r, const struct ow_arch *arch, uint64_t base,
		 const uint8_t *bytes, uint64_t size)
{
	struct ow_rare_head head;
	const uint8_t *at = bytes + sizeof(head);

	if (size < sizeof(head))
		return -OW_EFORMAT;
	memcpy(&head, bytes, sizeof(head));
	if (head.magic != OW_RARE_MAGIC || head.nr_rows > OW_RARE_MAX_ROWS ||
	    head.nr_rules > OW_RARE_MAX_RULES ||
	    head.exprs_size > OW_RARE_MAX_EXPRS ||
	    size != sizeof(head) + (uint64_t)head.nr_rows * sizeof(*r->rows) +
			    (uint64_t)head.nr_rules * sizeof(*r->rules) +
			    head.exprs_size)
		return -OW_EFORMAT;
	r->arch = arch;
	r->base = base;
	r->nr_rows = head.nr_rows;
	r->nr_rules = head.nr_rules;
	r->exprs_size = head.exprs_size;
	r->rows = (const void *)at;
	r->rules = (const void *)(r->rows + r->nr_rows);
	r->exprs = (const void *)(r->rules + r->nr_rules);
	return 0;
}

static char operand_of(uint8_t op)
{
	size_t i;

	for (i = 0; i < OW_ARRAY_SIZE(allowed); i++)
		if (op >= allowed[i].first && op <= allowed[i].last)
			return allowed[i].operand;
	return 0;
}

/* Is it one operation that may be used, whole?  The cursor goes behind it. */
static bool is_allowed(const struct ow_arch *arch, struct ow_cursor *c)
{
	uint8_t op = ow_cursor_u8(c);
	char operand = operand_of(op);

	switch (operand) {
	case 0: return false;
	case '-': break;
	case 'u': ow_cursor_uleb(c); break;
	case 's': ow_cursor_sleb(c); break;
	case 'b':
		ow_cursor_sleb(c);
		if (ow_arch_slot(arch, op - OP_breg0) == OW_SLOT_NONE)
			return false;
		break;
	default: ow_cursor_skip(c, (uint64_t)(operand - '0'));
	}
	return !c->bad;
}

unsigned int ow_rare_ops(const struct ow_arch *arch, const uint8_t *code,
			 uint64_t size)
{
	struct ow_cursor c = { code, code + size, false };
	unsigned int n = 0;

	while (ow_cursor_more(&c) && n <= OW_RARE_MAX_OPS) {
		if (!is_allowed(arch, &c))
			return 0;
		n++;
	}
	return n <= OW_RARE_MAX_OPS ? n : 0;
}

/* Is a rule sound?  What its expression costs is added to ops. */
static bool is_rule(const struct ow_rare *r, const struct ow_rare_rule *rule,
		    unsigned int *ops)
{
	struct ow_cursor c = { r->exprs, r->exprs + r->exprs_size, false };
	unsigned int n;
	uint64_t size;
	const uint8_t *code;

	if (rule->kind == 0 || rule->kind >= OW_RARE_NR_KINDS ||
	    rule->slot >= r->arch->nr_regs || rule->reg >= r->arch->nr_regs ||
	    rule->reserved)
		return false;
	if (rule->kind != OW_RARE_AT_EXPR && rule->kind != OW_RARE_IS_EXPR)
		return true;
	ow_cursor_skip(&c, (uint32_t)rule->off);
	size = ow_cursor_uleb(&c);
	code = ow_cursor_skip(&c, size);
	n = code ? ow_rare_ops(r->arch, code, size) : 0;
	*ops += n;
	return n > 0;
}

static bool is_cfa(const struct ow_rare_rule *rule)
{
	return rule->slot == 0 &&
	       (rule->kind == OW_RARE_REG || rule->kind == OW_RARE_AT_REG ||
		rule->kind == OW_RARE_IS_EXPR);
}

static bool is_row(const struct ow_rare *r, const struct ow_rare_row *row)
{
	unsigned int ops = 0, i;

	if (row->start >= row->end || row->nr > OW_MAX_REGS ||
	    row->flags & ~ALL_FLAGS || row->ra >= r->arch->nr_regs ||
	    row->reserved || row->first >= r->nr_rules ||
	    r->nr_rules - row->first <= row->nr ||
	    r->base + row->end < r->base || !is_cfa(&r->rules[row->first]))
		return false;
	for (i = 0; i <= row->nr; i++)
		if (!is_rule(r, &r->rules[row->first + i], &ops))
			return false;
	return ops <= OW_RARE_MAX_OPS;
}

int ow_rare_verify(const struct ow_rare *r, uint32_t *at, uint32_t max)
{
	for (; *at < r->nr_rows; ++*at) {
		if (max-- == 0)
			return 1;
		if (!is_row(r, &r->rows[*at]) ||
		    (*at && r->rows[*at].start < r->rows[*at - 1].end))
			return -OW_EFORMAT;
	}
	return 0;
}

static struct ow_rule rule_of(const struct ow_rare_rule *rule)
{
	return (struct ow_rule){
		.slot = rule->slot,
		.kind = rule->kind,
		.reg = rule->reg,
		.off = rule->off,
	};
}

/* The last row that begins at off or before, or NULL. */
static const struct ow_rare_row *search(const struct ow_rare *r, uint32_t off)
{
	uint32_t low = 0, high = r->nr_rows, mid;

	while (low < high) {
		mid = low + (high - low) / 2;
		if (r->rows[mid].start <= off)
			low = mid + 1;
		else
			high = mid;
	}
	return low ? &r->rows[low - 1] : NULL;
}

int ow_rare_find(const struct ow_rare *r, uint64_t vaddr, struct ow_row *row,
		 struct ow_rule *rules)
{
	uint64_t off = vaddr - r->base;
	const struct ow_rare_row *found = vaddr >= r->base &&
							  off <= UINT32_MAX ?
						  search(r, (uint32_t)off) :
						  NULL;
	unsigned int i;

	if (!found || off >= found->end)
		return -OW_EUNSUPPORTED;
	*row = (struct ow_row){
		.cfa = rule_of(&r->rules[found->first]),
		.nr = found->nr,
		.flags = found->flags,
		.ra = found->ra,
		.how = OW_HOW_TABLE,
		.exprs = r->exprs,
		.exprs_size = r->exprs_size,
		.rules = rules,
	};
	if (off + 1 != found->end)
		row->flags &= ~OW_ROW_LAST;
	for (i = 0; i < found->nr; i++)
		rules[i] = rule_of(&r->rules[found->first + 1 + i]);
	return 0;
}
