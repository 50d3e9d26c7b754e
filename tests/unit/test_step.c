// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#include "bytes.h"
#include "stepbrief.h"
#include "test.h"

enum {
	STACK = 0x7000,
	STACK_SIZE = 0x100,

	RAX = 0,
	RBX = 3,
	RBP = 6,
	RSP = 7,
	R12 = 12,
	RIP = 16,
};

struct fake_target {
	struct ow_target target; /* first: cast back in read_stack() */
	struct fake_memory stack;
	unsigned int reads;
};

static uint8_t stack_bytes[STACK_SIZE];
static struct fake_target fake;
static struct ow_step step;
static struct ow_regs regs;
static struct ow_rule rules[OW_MAX_REGS];
static struct ow_row row;

static int read_stack(const struct ow_memory *mem, uint64_t addr, void *buf,
		      size_t size)
{
	struct fake_target *f = (void *)(uintptr_t)(const void *)mem;

	f->reads++;
	return fake_read(&f->stack.mem, addr, buf, size);
}

/* Every word of the stack holds its own address plus a million. */
#define AT(addr) ((addr) + 0x1000000ULL)

static void set_up(const struct ow_arch *arch)
{
	uint64_t addr, word;

	for (addr = STACK; addr < STACK + STACK_SIZE; addr += arch->word) {
		word = AT(addr);
		memcpy(stack_bytes + (addr - STACK), &word, arch->word);
	}
	memset(&step, 0x5a, sizeof(step));
	fake = (struct fake_target){
		.target = { .mem = { read_stack }, .arch = arch },
		.stack = { { fake_read }, STACK, stack_bytes, STACK_SIZE },
	};
	step.target = &fake.target;
	step.pc_mask = arch->pc_mask;
	step.stack = (struct ow_window){ 0, 0, NULL };
	memset(&regs, 0x5a, sizeof(regs));
	regs.known = 0;
	ow_regs_set(&regs, arch->sp, STACK);
	ow_regs_set(&regs, arch->fp, STACK + 0x40);
	ow_regs_set(&regs, arch->pc, 0x401000);
	row = (struct ow_row){
		.cfa = { 0, OW_RULE_REG, arch->sp, 0x20 },
		.ra = arch->ra,
		.rules = rules,
	};
}

static void rule(uint8_t slot, uint8_t kind, uint8_t reg, int32_t off)
{
	rules[row.nr++] = (struct ow_rule){ slot, kind, reg, off };
}

/* x86-64: ra at cfa-8, as in all rows but the last. */
static void set_up_x86(void)
{
	set_up(&ow_arch_x86_64);
	rule(RIP, OW_RULE_AT_CFA, 0, -8);
}

static void test_ordinary_row(void)
{
	set_up_x86();
	rule(RBP, OW_RULE_AT_CFA, 0, -16);
	ow_regs_set(&regs, RAX, 1);
	ow_regs_set(&regs, RBX, 2);
	CHECK(ow_step(&step, &row, &regs) == 0);
	CHECK(regs.val[RSP] == STACK + 0x20);
	CHECK(regs.val[RIP] == AT(STACK + 0x18));
	CHECK(regs.val[RBP] == AT(STACK + 0x10));
	CHECK(regs.val[RBX] == 2); /* a callee saves it */
	CHECK(regs.known == (1ULL << RSP | 1ULL << RIP | 1ULL << RBP |
			     1ULL << RBX)); /* and rax is lost */
}

static void test_each_rule(void)
{
	set_up_x86();
	ow_regs_set(&regs, RAX, 0x11);
	ow_regs_set(&regs, 1, STACK + 0x80);
	rule(RBX, OW_RULE_IS_CFA, 0, -24);
	rule(R12, OW_RULE_REG, RAX, 5);
	rule(13, OW_RULE_AT_REG, 1, 8);
	rule(RAX, OW_RULE_SAME, 0, 0);
	rule(14, OW_RULE_AT_CFA, 0, 8);
	rule(RBP, OW_RULE_UNDEFINED, 0, 0);
	CHECK(ow_step(&step, &row, &regs) == 0);
	CHECK(regs.val[RBX] == STACK + 0x20 - 24);
	CHECK(regs.val[R12] == 0x16);
	CHECK(regs.val[13] == AT(STACK + 0x88));
	CHECK(regs.val[RAX] == 0x11);
	CHECK(regs.val[14] == AT(STACK + 0x28));
	CHECK(regs.known ==
	      (1ULL << RSP | 1ULL << RIP | 1ULL << RBX | 1ULL << R12 |
	       1ULL << 13 | 1ULL << RAX | 1ULL << 14));
}

/* All rules are of the callee's registers, whatever their order. */
static void test_registers_exchanged(void)
{
	set_up_x86();
	ow_regs_set(&regs, RBX, 1);
	ow_regs_set(&regs, R12, 2);
	rule(RBX, OW_RULE_REG, R12, 0);
	rule(R12, OW_RULE_REG, RBX, 0);
	rule(RSP, OW_RULE_REG, RSP, 0x40); /* not the CFA, for once */
	CHECK(ow_step(&step, &row, &regs) == 0);
	CHECK(regs.val[RBX] == 2 && regs.val[R12] == 1);
	CHECK(regs.val[RSP] == STACK + 0x40);
}

static void test_unknown_registers(void)
{
	set_up_x86();
	rule(RBX, OW_RULE_REG, RAX, 0); /* what it is moved from is lost */
	rule(R12, OW_RULE_SAME, 0, 0);
	CHECK(ow_step(&step, &row, &regs) == 0);
	CHECK(!ow_regs_known(&regs, RBX) && !ow_regs_known(&regs, R12));
	CHECK(ow_regs_known(&regs, RBP));
}

/* Run a row that must fail, and leave registers as they are. */
static void check_failure(int want)
{
	struct ow_regs before = regs;

	CHECK(ow_step(&step, &row, &regs) == want);
	CHECK(memcmp(&before, &regs, sizeof(regs)) == 0);
}

static void test_failures_change_nothing(void)
{
	/* the last rule faults, after all others could be executed */
	set_up(&ow_arch_x86_64);
	rule(RBP, OW_RULE_AT_CFA, 0, -16);
	rule(RIP, OW_RULE_AT_CFA, 0, STACK_SIZE - 0x20);
	check_failure(-OW_EFAULT);
	CHECK(step.fault == STACK + STACK_SIZE);
	/* a word that is there by half */
	set_up(&ow_arch_x86_64);
	rule(RIP, OW_RULE_AT_CFA, 0, STACK_SIZE - 0x24);
	check_failure(-OW_EFAULT);
	CHECK(step.fault == STACK + STACK_SIZE - 4);
	/* CFA: register unknown; of no kind; at an address */
	set_up_x86();
	row.cfa.reg = R12;
	check_failure(-OW_EUNKNOWN);
	row.cfa.kind = OW_RULE_NONE;
	check_failure(-OW_EFORMAT);
	row.cfa = (struct ow_rule){ 0, OW_RULE_AT_REG, RSP, -8 };
	check_failure(-OW_EFAULT);
	CHECK(step.fault == STACK - 8);
	/* the return address: no rule, undefined, moved from the unknown */
	set_up(&ow_arch_x86_64);
	check_failure(-OW_EUNKNOWN);
	rule(RIP, OW_RULE_UNDEFINED, 0, 0);
	check_failure(-OW_EUNKNOWN);
	rules[0] = (struct ow_rule){ RIP, OW_RULE_REG, RAX, 0 };
	check_failure(-OW_EUNKNOWN);
	rules[0] = (struct ow_rule){ RIP, OW_RULE_AT_REG, RAX, 0 };
	check_failure(-OW_EUNKNOWN);
	rules[0] = (struct ow_rule){ RIP, OW_RULE_NONE, 0, 0 };
	check_failure(-OW_EFORMAT);
}

/* A register whose saved value is out of reach is lost; the others aren't. */
static void test_saved_out_of_reach(void)
{
	static const uint8_t exprs[] = {
		4, 0x0a, 0x00, 0x10, 0x06, /* const2u 0x1000, deref */
	};

	set_up_x86();
	ow_regs_set(&regs, RBX, 7);
	ow_regs_set(&regs, R12, 8);
	row.exprs = exprs;
	row.exprs_size = sizeof(exprs);
	rule(RBX, OW_RULE_AT_CFA, 0, STACK_SIZE - 0x20);
	rule(R12, OW_RULE_IS_EXPR, 0, 0);
	rule(RBP, OW_RULE_AT_CFA, 0, -16);
	rule(13, OW_RULE_AT_REG, RAX, 8); /* rax is not known */
	CHECK(ow_step(&step, &row, &regs) == 0);
	CHECK(regs.known == (1ULL << RSP | 1ULL << RIP | 1ULL << RBP));
	CHECK(regs.val[RBP] == AT(STACK + 0x10));
	/* but sp has to be there */
	set_up_x86();
	rule(RSP, OW_RULE_AT_CFA, 0, STACK_SIZE - 0x20);
	check_failure(-OW_EFAULT);
	CHECK(step.fault == STACK + STACK_SIZE);
}

/* Where the stack is in our memory, the target isn't asked. */
static void test_window(void)
{
	set_up_x86();
	rule(RBP, OW_RULE_AT_CFA, 0, -16);
	step.stack = (struct ow_window){ STACK, 0x20, stack_bytes };
	CHECK(ow_step(&step, &row, &regs) == 0);
	CHECK(regs.val[RBP] == AT(STACK + 0x10) && fake.reads == 0);
	/* a word that is half outside */
	set_up_x86();
	step.stack = (struct ow_window){ STACK, 0x1c, stack_bytes };
	CHECK(ow_step(&step, &row, &regs) == 0);
	CHECK(regs.val[RIP] == AT(STACK + 0x18) && fake.reads == 1);
	/* before it */
	set_up_x86();
	step.stack = (struct ow_window){ STACK + 0x20, 0x20, stack_bytes };
	CHECK(ow_step(&step, &row, &regs) == 0);
	CHECK(regs.val[RIP] == AT(STACK + 0x18) && fake.reads == 1);
}

static void test_expressions(void)
{
	static const uint8_t exprs[] = {
		2,    0x77, 0x20,             /* 0: breg7 32 */
		2,    0x23, 8,                /* 3: plus_uconst 8 */
		1,    0x9c,                   /* 6: call_frame_cfa */
		3,    0x0a, 0x00, 0x10, 0x06, /* 8: const2u 0x1000; cut */
		10,   0x03, 1,    0,    0,    0, 0, 0, 0, 0, 0x96, /* addr 1 */
		4,    0x0a, 0x00, 0x10, 0x06, /* 24: 0x1000, deref */
		0x7f,                         /* 29: too long */
	};

	set_up_x86();
	row.exprs = exprs;
	row.exprs_size = sizeof(exprs);
	row.bias = 0x500000;
	row.cfa = (struct ow_rule){ 0, OW_RULE_IS_EXPR, 0, 0 };
	rule(RBX, OW_RULE_AT_EXPR, 0, 3);
	rule(R12, OW_RULE_IS_EXPR, 0, 3);
	rule(13, OW_RULE_IS_EXPR, 0, 6);
	rule(14, OW_RULE_IS_EXPR, 0, 13);
	CHECK(ow_step(&step, &row, &regs) == 0);
	CHECK(regs.val[RSP] == STACK + 0x20);
	CHECK(regs.val[RBX] == AT(STACK + 0x28));
	CHECK(regs.val[R12] == STACK + 0x28);
	CHECK(regs.val[13] == STACK + 0x20);
	CHECK(regs.val[14] == 0x500001); /* addr is a vaddr */

	set_up_x86();
	row.exprs = exprs;
	row.exprs_size = sizeof(exprs);
	rule(RBX, OW_RULE_IS_EXPR, 0, 29);
	check_failure(-OW_EFORMAT);
	rules[1].off = (int)sizeof(exprs);
	check_failure(-OW_EFORMAT);
	rules[1].off = -1;
	check_failure(-OW_EFORMAT);
	/* the CFA's own expression can't ask for the CFA */
	rules[1].off = 3;
	row.cfa = (struct ow_rule){ 0, OW_RULE_IS_EXPR, 0, 6 };
	check_failure(-OW_EUNSUPPORTED);
	row.exprs = NULL;
	row.exprs_size = 0;
	check_failure(-OW_EFORMAT);
}

/* Operations of all expressions of a row are counted together. */
static void test_costly_expressions(void)
{
	/* breg7 0, deref, drop, breg7 32 */
	static const uint8_t exprs[] = { 6, 0x77, 0, 0x06, 0x13, 0x77, 0x20 };
	const uint32_t all = 4 * (4 + OW_EXPR_READ), over = all - OW_EXPR_FEW;
	uint64_t left = 1000;
	struct ow_regs before;

	set_up_x86();
	before = regs;
	fake.target.cfi_left = &left;
	row.exprs = exprs;
	row.exprs_size = sizeof(exprs);
	row.cfa = (struct ow_rule){ 0, OW_RULE_IS_EXPR, 0, 0 };
	rule(RBX, OW_RULE_IS_EXPR, 0, 0);
	rule(R12, OW_RULE_IS_EXPR, 0, 0);
	rule(13, OW_RULE_IS_EXPR, 0, 0);
	step.expr.left = 1000;
	CHECK(ow_step(&step, &row, &regs) == 0 &&
	      regs.val[RSP] == STACK + 0x20);
	CHECK(left == step.expr.left && left < 1000 &&
	      left >= 1000 - over - OW_EXPR_READ);
	regs = before;
	left = over - 1;
	check_failure(-OW_ELIMIT);
	left = 1000;
	step.expr.left = over - 1;
	check_failure(-OW_ELIMIT);
	/* A row may run a few in any case. */
	row.nr = 2;
	left = step.expr.left = 0;
	CHECK(ow_step(&step, &row, &regs) == 0);
}

/* A register that can't be read costs the walk, and the run. */
static void test_unreadable_registers(void)
{
	const uint32_t all = 3 * OW_EXPR_FAULT;
	uint64_t left = all;
	struct ow_regs before;

	set_up_x86();
	before = regs;
	fake.target.cfi_left = &left;
	rule(RBX, OW_RULE_AT_CFA, 0, 0x10000);
	rule(R12, OW_RULE_AT_CFA, 0, 0x20000);
	rule(13, OW_RULE_AT_REG, RBP, 0x10000);
	rule(14, OW_RULE_AT_REG, RAX, 0); /* costs nothing: it isn't known */
	step.expr.left = all + OW_EXPR_FAULT - 1;
	CHECK(ow_step(&step, &row, &regs) == 0 && regs.val[RIP] != 0);
	CHECK(!ow_regs_known(&regs, RBX) && !ow_regs_known(&regs, 14));
	CHECK(left == 0 && step.expr.left == OW_EXPR_FAULT - 1);
	regs = before;
	left = all;
	check_failure(-OW_ELIMIT);
	step.expr.left = all;
	left = all - 1;
	check_failure(-OW_ELIMIT);
	/* Those that can be read cost none. */
	row.nr = 1;
	rule(RBX, OW_RULE_AT_CFA, 0, -16);
	rule(R12, OW_RULE_AT_CFA, 0, -24);
	step.expr.left = 0;
	CHECK(ow_step(&step, &row, &regs) == 0);
}

static void test_signal_row(void)
{
	uint64_t sp = STACK + 0x90;
	size_t i;

	set_up(&ow_arch_x86_64);
	CHECK(ow_arch_signal_row(&ow_arch_x86_64,
				 ow_arch_x86_64.sigframes[0].code, 9, &row));
	memcpy(stack_bytes + 40 + 8 * 15, &sp, 8);
	CHECK(ow_step(&step, &row, &regs) == 0);
	CHECK(regs.val[RSP] == sp && regs.val[RIP] == AT(STACK + 40 + 8 * 16));
	CHECK(regs.val[RAX] == AT(STACK + 40 + 8 * 13));
	for (i = 0; i < 17; i++)
		CHECK(ow_regs_known(&regs, i));
}

static void test_aarch64(void)
{
	const struct ow_arch *arch = &ow_arch_aarch64;

	/* a leaf: x30 holds the return address, signed, and keeps it */
	set_up(arch);
	row.cfa.off = 0;
	ow_regs_set(&regs, 30, 0x0025000000401234);
	CHECK(ow_step(&step, &row, &regs) == 0);
	CHECK(regs.val[arch->pc] == 0x401234);
	CHECK(regs.val[30] == 0x0025000000401234);
	CHECK(regs.val[arch->sp] == STACK);
	/* a target with another mask: kernel addresses, say */
	set_up(arch);
	step.pc_mask = 0x007fffffffffffff;
	ow_regs_set(&regs, 30, 0xf025000000401234);
	CHECK(ow_step(&step, &row, &regs) == 0);
	CHECK(regs.val[arch->pc] == 0x0025000000401234);
	/* a kernel's: where the signature was, all bits are set; but not in 0 */
	set_up(arch);
	step.pc_mask = 0x0000ffffffffffff;
	ow_regs_set(&regs, 30, 0x12a5800008001234);
	CHECK(ow_step(&step, &row, &regs) == 0);
	CHECK(regs.val[arch->pc] == 0xffff800008001234);
	set_up(arch);
	ow_regs_set(&regs, 30, 0);
	CHECK(ow_step(&step, &row, &regs) == 0);
	CHECK(regs.val[arch->pc] == 0);
	/* d8 is kept and loaded; x0 is lost */
	set_up(arch);
	ow_regs_set(&regs, 30, 0x401234);
	ow_regs_set(&regs, 0, 1);
	ow_regs_set(&regs, 35, 2);
	rule(34, OW_RULE_AT_CFA, 0, -8);
	CHECK(ow_step(&step, &row, &regs) == 0);
	CHECK(regs.val[34] == AT(STACK + 0x18) && regs.val[35] == 2);
	CHECK(ow_regs_known(&regs, 34) && ow_regs_known(&regs, 35));
	CHECK(!ow_regs_known(&regs, 0));
	/* x30 isn't known: nor is the caller */
	set_up(arch);
	check_failure(-OW_EUNKNOWN);
}

/* i386: every sum wraps at 32 bits, and 4 bytes are read. */
static void test_i386(void)
{
	enum {
		EAX = 0,
		EBX = 3,
		ESP = 4,
		EBP = 5,
		ESI = 6,
		EDI = 7,
		EIP = 8
	};

	set_up(&ow_arch_i386);
	ow_regs_set(&regs, ESP, 0xfffffff0);
	ow_regs_set(&regs, EAX, 0xffffff00);
	row.cfa.off = STACK + 0x30; /* wraps to STACK + 0x20 */
	rule(EIP, OW_RULE_AT_CFA, 0, -4);
	rule(EBX, OW_RULE_IS_CFA, 0, -(STACK + 0x30));
	rule(EBP, OW_RULE_REG, EAX, 0x200);
	rule(ESI, OW_RULE_AT_REG, EAX, STACK + 0x100 + 0x40);
	CHECK(ow_step(&step, &row, &regs) == 0);
	CHECK(regs.val[ESP] == STACK + 0x20);
	CHECK(regs.val[EIP] == AT(STACK + 0x1c));
	CHECK(regs.val[EBX] == 0xfffffff0);
	CHECK(regs.val[EBP] == 0x100);
	CHECK(regs.val[ESI] == AT(STACK + 0x40));
	/* the CFA at an address that wraps, and a rule below zero */
	set_up(&ow_arch_i386);
	ow_regs_set(&regs, EAX, 0xfffffffc);
	row.cfa = (struct ow_rule){ 0, OW_RULE_AT_REG, EAX, STACK + 4 };
	rule(EIP, OW_RULE_AT_REG, EAX, STACK + 8);
	CHECK(ow_step(&step, &row, &regs) == 0);
	CHECK(regs.val[ESP] == AT(STACK));
	CHECK(regs.val[EIP] == AT(STACK + 4));
	/* the window */
	set_up(&ow_arch_i386);
	step.stack = (struct ow_window){ STACK, 0x20, stack_bytes };
	rule(EIP, OW_RULE_AT_CFA, 0, -4);
	CHECK(ow_step(&step, &row, &regs) == 0);
	CHECK(regs.val[EIP] == AT(STACK + 0x1c) && fake.reads == 0);
}

/* The row in brief. */
static const struct ow_brief *brief(void)
{
	static struct ow_brief entries[2];
	struct ow_cache cache = { .entries = entries };

	memset(entries, 0, sizeof(entries));
	ow_cache_put(&cache, fake.target.arch, 1, 1, &row);
	return ow_cache_get(&cache, 1, 1);
}

static void set_up_brief(void)
{
	set_up_x86();
	rule(RBP, OW_RULE_AT_CFA, 0, -16);
	rule(RBX, OW_RULE_AT_CFA, 0, -0x20);
	ow_regs_set(&regs, RAX, 1);
	ow_regs_set(&regs, R12, 2);
	step.stack = (struct ow_window){ STACK, 0x40, stack_bytes };
}

static enum ow_stepped step_brief(ow_word_fn *word, struct ow_regs *r)
{
	const struct ow_brief *b = brief();
	struct ow_caller caller = { 0 };
	enum ow_stepped stepped;

	CHECK(b);
	stepped = ow_step_brief(&step, &step.stack, word, b, r, &caller);
	if (stepped == OW_STEP_TAKEN)
		CHECK(caller.pc == r->val[fake.target.arch->pc] &&
		      caller.sp == r->val[fake.target.arch->sp]);
	return stepped;
}

/* In the usual case a row in brief does what the whole row does. */
static void check_brief(void)
{
	struct ow_regs by_brief = regs;
	unsigned int i;

	CHECK(step_brief(ow_word_there, &by_brief) == OW_STEP_TAKEN);
	CHECK(ow_step(&step, &row, &regs) == 0);
	CHECK(by_brief.known == regs.known);
	for (i = 0; i < OW_MAX_REGS; i++)
		CHECK(!ow_regs_known(&regs, i) ||
		      by_brief.val[i] == regs.val[i]);
}

static void test_brief(void)
{
	set_up_brief();
	check_brief();
	CHECK(regs.val[RBX] == AT(STACK) && regs.val[R12] == 2);
	/* the window ends at the CFA; and begins at the lowest save */
	set_up_brief();
	step.stack.size = 0x20;
	check_brief();
	/* aarch64: the return address in a register, and in memory; signed */
	set_up(&ow_arch_aarch64);
	step.stack = (struct ow_window){ STACK, 0x40, stack_bytes };
	ow_regs_set(&regs, 30, 0x0025000000401234);
	rule(34, OW_RULE_AT_CFA, 0, -16);
	check_brief();
	CHECK(regs.val[ow_arch_aarch64.pc] == 0x401234);
	set_up(&ow_arch_aarch64);
	step.stack = (struct ow_window){ STACK, 0x40, stack_bytes };
	rule(29, OW_RULE_AT_CFA, 0, -32);
	rule(30, OW_RULE_AT_CFA, 0, -24);
	check_brief();
}

static void check_not_by(ow_word_fn *word)
{
	struct ow_regs before = regs;

	CHECK(step_brief(word, &regs) == OW_STEP_OTHER);
	CHECK(memcmp(&before, &regs, sizeof(regs)) == 0);
}

static void check_not_brief(void)
{
	check_not_by(ow_word_there);
}

/* What isn't usual is left to ow_step(). */
static void test_not_brief(void)
{
	set_up_brief();
	step.stack = (struct ow_window){ 0, 0, NULL };
	check_not_brief();
	set_up_brief();
	step.stack.size = 0x1f; /* the return address is half outside */
	check_not_brief();
	set_up_brief();
	/* the lowest save is */
	step.stack = (struct ow_window){ STACK + 1, 0x3f, stack_bytes + 1 };
	check_not_brief();
	set_up_brief();
	row.flags = OW_ROW_SIGNAL;
	check_not_brief();
	set_up_brief();
	row.flags = OW_ROW_OUTERMOST;
	check_not_brief();
	set_up_brief();
	row.cfa.reg = 15; /* not known */
	check_not_brief();
	set_up_brief();
	row.cfa.off = 0; /* no way up */
	check_not_brief();
	set_up_brief();
	memset(stack_bytes + 0x18, 0, 8); /* the return address is null */
	check_not_brief();
	set_up_brief();
	row.nr = 0; /* and it isn't known without its rule */
	check_not_brief();
	set_up(&ow_arch_i386);
	step.stack = (struct ow_window){ STACK, 0x40, stack_bytes };
	rule(8, OW_RULE_AT_CFA, 0, -4);
	check_not_brief();
}

/* Bytes of the stack that are missing, and how many words are there yet. */
static unsigned int missing, words_left;

static bool word_outside(const uint8_t *at, uint64_t *ret)
{
	const uint8_t *hole = stack_bytes + missing;

	return (at + 8 <= hole || at > hole) && ow_word_there(at, ret);
}

static bool word_at_first(const uint8_t *at, uint64_t *ret)
{
	return words_left && words_left-- && ow_word_there(at, ret);
}

/* Where words may be missing, that is found before a register is changed. */
static void test_brief_with_holes(void)
{
	struct ow_regs before;
	unsigned int there;

	set_up_brief();
	missing = 7; /* the lowest save */
	check_not_by(word_outside);
	missing = 0x18; /* the highest word, the return address */
	check_not_by(word_outside);
	missing = 0x20; /* none that it needs */
	before = regs;
	CHECK(step_brief(word_outside, &regs) == OW_STEP_TAKEN);
	/* but one that goes meanwhile: both ends and the return address, */
	for (there = 0; there < 3; there++) {
		set_up_brief();
		words_left = there;
		check_not_by(word_at_first);
	}
	/* then all that is saved */
	for (; there < 3 + OW_BRIEF_FEW; there++) {
		set_up_brief();
		words_left = there;
		CHECK(step_brief(word_at_first, &regs) == OW_STEP_TORN);
	}
	set_up_brief();
	words_left = there;
	CHECK(step_brief(word_at_first, &regs) == OW_STEP_TAKEN);
	CHECK(memcmp(&before, &regs, sizeof(regs)) != 0);
}

int main(void)
{
	static const struct test tests[] = {
		{ "ordinary row", test_ordinary_row },
		{ "each rule", test_each_rule },
		{ "registers exchanged", test_registers_exchanged },
		{ "unknown registers", test_unknown_registers },
		{ "failures change nothing", test_failures_change_nothing },
		{ "saved out of reach", test_saved_out_of_reach },
		{ "window", test_window },
		{ "expressions", test_expressions },
		{ "expressions that cost much", test_costly_expressions },
		{ "registers that can't be read", test_unreadable_registers },
		{ "signal row", test_signal_row },
		{ "aarch64", test_aarch64 },
		{ "i386", test_i386 },
		{ "in brief", test_brief },
		{ "not in brief", test_not_brief },
		{ "in brief, with holes", test_brief_with_holes },
	};

	return test_main(tests, OW_ARRAY_SIZE(tests));
}
