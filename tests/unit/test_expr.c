// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#include "bytes.h"
#include "expr.h"
#include "test.h"

enum {
	MEM = 0x5000,
	CFA = 0x7000,
	BIAS = 0x100000,
};

static const uint8_t memory_bytes[16] = { 0xf1, 0xf2, 0xf3, 0xf4, 0xf5, 0xf6,
					  0xf7, 0xf8, 1,    2,    3,    4,
					  5,    6,    7,    8 };
static const struct fake_memory memory = { { fake_read },
					   MEM,
					   memory_bytes,
					   sizeof(memory_bytes) };
static struct ow_regs regs;
static struct ow_expr x;

/* x86-64: rax 0x10, rsp 0x1000, rip not known. */
static void set_up(const struct ow_arch *arch)
{
	regs = (struct ow_regs){ .known = 0 };
	ow_regs_set(&regs, 0, 0x10);
	ow_regs_set(&regs, arch->sp, 0x1000);
	memset(&x, 0x5a, sizeof(x));
	x.arch = arch;
	x.regs = &regs;
	x.mem = &memory.mem;
	x.cfa = CFA;
	x.has_cfa = true;
	x.bias = BIAS;
	x.few = OW_EXPR_FEW;
	x.left = OW_EXPR_LEFT;
	x.run_left = NULL;
}

static int run(const uint8_t *code, size_t size, bool push, uint64_t *ret)
{
	uint8_t *bytes = exact(code, size);
	int err = ow_expr_run(&x, bytes, size, push, ret);

	free(bytes);
	return err;
}

struct test_case {
	uint8_t code[24];
	uint8_t size;
	int err;
	uint64_t want;
};

static void check_cases(const struct ow_arch *arch,
			const struct test_case *cases, size_t n)
{
	uint64_t value;
	size_t i, size;
	int err;

	for (i = 0; i < n; i++) {
		const struct test_case *c = &cases[i];

		set_up(arch);
		value = 0x77;
		err = run(c->code, c->size, false, &value);
		if (err != c->err || value != (err ? 0x77 : c->want))
			printf("# case %zu: %d, %#llx\n", i, err,
			       (unsigned long long)value);
		CHECK(err == c->err);
		CHECK(value == (err ? 0x77 : c->want));
		for (size = 0; size < c->size; size++) {
			err = run(c->code, size, false, &value);
			CHECK(err <= 0 && err > -OW_ERR_HOSTED);
		}
	}
}

#define M1 UINT64_MAX

static void test_literals(void)
{
	static const struct test_case cases[] = {
		{ { 0x30 }, 1, 0, 0 },
		{ { 0x4f }, 1, 0, 31 },
		{ { 0x08, 0xfe }, 2, 0, 0xfe },
		{ { 0x09, 0xfe }, 2, 0, M1 - 1 },
		{ { 0x0a, 0x01, 0xff }, 3, 0, 0xff01 },
		{ { 0x0b, 0x01, 0xff }, 3, 0, (uint64_t)-255 },
		{ { 0x0c, 1, 0, 0, 0xff }, 5, 0, 0xff000001 },
		{ { 0x0d, 1, 0, 0, 0xff }, 5, 0, 0xffffffffff000001 },
		{ { 0x0e, 1, 2, 3, 4, 5, 6, 7, 8 }, 9, 0, 0x0807060504030201 },
		{ { 0x0f, 1, 2, 3, 4, 5, 6, 7, 0xf8 },
		  9,
		  0,
		  0xf807060504030201 },
		{ { 0x10, 0xb9, 0x64 }, 3, 0, 12857 },
		{ { 0x11, 0xff, 0x7e }, 3, 0, (uint64_t)-129 },
		/* addr holds a vaddr */
		{ { 0x03, 0x34, 0x12, 0, 0, 0, 0, 0, 0 }, 9, 0, BIAS + 0x1234 },
		/* breg0 8; breg7 -8; bregx 7, 16 */
		{ { 0x70, 8 }, 2, 0, 0x18 },
		{ { 0x77, 0x78 }, 2, 0, 0xff8 },
		{ { 0x92, 7, 16 }, 3, 0, 0x1010 },
		/* rip isn't known; xmm0 isn't followed */
		{ { 0x80, 0 }, 2, -OW_EUNKNOWN, 0 },
		{ { 0x92, 16, 0 }, 3, -OW_EUNKNOWN, 0 },
		{ { 0x92, 17, 0 }, 3, -OW_EUNSUPPORTED, 0 },
		{ { 0x9c }, 1, 0, CFA },
		/* nop alone leaves nothing */
		{ { 0x96 }, 1, -OW_EFORMAT, 0 },
		{ { 0x96, 0x31, 0x96 }, 3, 0, 1 },
		{ { 0 }, 0, -OW_EFORMAT, 0 },
		/* operands cut */
		{ { 0x0c, 1, 2, 3 }, 4, -OW_EFORMAT, 0 },
		{ { 0x10, 0x80 }, 2, -OW_EFORMAT, 0 },
	};

	check_cases(&ow_arch_x86_64, cases, OW_ARRAY_SIZE(cases));
}

static void test_stack(void)
{
	static const struct test_case cases[] = {
		{ { 0x31, 0x12, 0x22 }, 3, 0, 2 },          /* dup */
		{ { 0x31, 0x32, 0x13 }, 3, 0, 1 },          /* drop */
		{ { 0x31, 0x32, 0x14 }, 3, 0, 1 },          /* over */
		{ { 0x31, 0x32, 0x33, 0x15, 2 }, 5, 0, 1 }, /* pick 2 */
		{ { 0x31, 0x32, 0x33, 0x15, 0 }, 5, 0, 3 }, /* pick 0 */
		{ { 0x31, 0x32, 0x16 }, 3, 0, 1 },          /* swap */
		{ { 0x31, 0x32, 0x16, 0x13 }, 4, 0, 2 },
		/* rot: the top goes third */
		{ { 0x31, 0x32, 0x33, 0x17 }, 4, 0, 2 },
		{ { 0x31, 0x32, 0x33, 0x17, 0x13 }, 5, 0, 1 },
		{ { 0x31, 0x32, 0x33, 0x17, 0x13, 0x13 }, 6, 0, 3 },
		/* underflow of each */
		{ { 0x12 }, 1, -OW_EFORMAT, 0 },
		{ { 0x13 }, 1, -OW_EFORMAT, 0 },
		{ { 0x31, 0x14 }, 2, -OW_EFORMAT, 0 },
		{ { 0x31, 0x15, 1 }, 3, -OW_EFORMAT, 0 },
		{ { 0x31, 0x16 }, 2, -OW_EFORMAT, 0 },
		{ { 0x31, 0x32, 0x17 }, 3, -OW_EFORMAT, 0 },
		{ { 0x19 }, 1, -OW_EFORMAT, 0 },
		{ { 0x06 }, 1, -OW_EFORMAT, 0 },
		{ { 0x31, 0x22 }, 2, -OW_EFORMAT, 0 },
		{ { 0x23, 1 }, 2, -OW_EFORMAT, 0 },
		{ { 0x28, 0, 0 }, 3, -OW_EFORMAT, 0 },
		{ { 0x31, 0x13 }, 2, -OW_EFORMAT, 0 },
	};

	check_cases(&ow_arch_x86_64, cases, OW_ARRAY_SIZE(cases));
}

/* INT64_MIN, and -1: consts of ten bytes. */
#define CONST_MIN \
	0x11, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x7f
#define CONST_M1 0x09, 0xff

static void test_arithmetic(void)
{
	static const struct test_case cases[] = {
		{ { CONST_M1, 0x19 }, 3, 0, 1 }, /* abs */
		{ { 0x35, 0x19 }, 2, 0, 5 },
		{ { CONST_MIN, 0x19 }, 12, 0, (uint64_t)1 << 63 },
		{ { 0x35, 0x1f }, 2, 0, (uint64_t)-5 }, /* neg */
		{ { CONST_MIN, 0x1f }, 12, 0, (uint64_t)1 << 63 },
		{ { 0x35, 0x20 }, 2, 0, ~(uint64_t)5 }, /* not */
		{ { 0x3c, 0x3a, 0x1a }, 3, 0, 8 },      /* and */
		{ { 0x3c, 0x3a, 0x21 }, 3, 0, 14 },     /* or */
		{ { 0x3c, 0x3a, 0x27 }, 3, 0, 6 },      /* xor */
		{ { 0x32, 0x33, 0x22 }, 3, 0, 5 },      /* plus */
		{ { 0x32, 0x33, 0x1c }, 3, 0, M1 },     /* minus */
		{ { 0x32, 0x33, 0x1e }, 3, 0, 6 },      /* mul */
		{ { 0x32, 0x23, 0x80, 1 }, 4, 0, 130 }, /* plus_uconst */
		/* div is signed, mod is not */
		{ { 0x37, 0x32, 0x1b }, 3, 0, 3 },
		{ { 0x09, 0xf9, 0x32, 0x1b }, 4, 0, (uint64_t)-3 },
		{ { 0x37, 0x32, 0x1d }, 3, 0, 1 },
		{ { CONST_M1, 0x3a, 0x1d }, 4, 0, 5 },
		{ { 0x37, 0x30, 0x1b }, 3, -OW_EFORMAT, 0 },
		{ { 0x37, 0x30, 0x1d }, 3, -OW_EFORMAT, 0 },
		{ { CONST_MIN, CONST_M1, 0x1b }, 14, 0, (uint64_t)1 << 63 },
		{ { CONST_MIN, CONST_M1, 0x1d }, 14, 0, (uint64_t)1 << 63 },
		/* shl, shr, shra, also by as many bits as there are */
		{ { 0x31, 0x34, 0x24 }, 3, 0, 16 },
		{ { 0x31, 0x08, 63, 0x24 }, 4, 0, (uint64_t)1 << 63 },
		{ { 0x31, 0x08, 64, 0x24 }, 4, 0, 0 },
		{ { CONST_M1, 0x08, 63, 0x25 }, 5, 0, 1 },
		{ { CONST_M1, 0x08, 64, 0x25 }, 5, 0, 0 },
		{ { CONST_M1, 0x08, 64, 0x26 }, 5, 0, M1 },
		{ { 0x09, 0xf0, 0x32, 0x26 }, 4, 0, (uint64_t)-4 },
		{ { 0x38, CONST_M1, 0x26 }, 4, 0, 0 },
	};

	check_cases(&ow_arch_x86_64, cases, OW_ARRAY_SIZE(cases));
}

static void test_comparisons(void)
{
	/* Each with (-1, 1), (1, 1), (1, -1): signed. */
	static const struct {
		uint8_t op;
		uint64_t want[3];
	} ops[] = {
		{ 0x29, { 0, 1, 0 } }, { 0x2a, { 0, 1, 1 } },
		{ 0x2b, { 0, 0, 1 } }, { 0x2c, { 1, 1, 0 } },
		{ 0x2d, { 1, 0, 0 } }, { 0x2e, { 1, 0, 1 } },
	};

	static const uint8_t pairs[3][2] = { { 0xff, 1 },
					     { 1, 1 },
					     { 1, 0xff } };
	uint64_t value;
	size_t i, j;

	for (i = 0; i < OW_ARRAY_SIZE(ops); i++) {
		for (j = 0; j < 3; j++) {
			uint8_t code[] = { 0x09, pairs[j][0], 0x09, pairs[j][1],
					   ops[i].op };

			set_up(&ow_arch_x86_64);
			CHECK(run(code, 5, false, &value) == 0);
			CHECK(value == ops[i].want[j]);
			set_up(&ow_arch_i386);
			CHECK(run(code, 5, false, &value) == 0);
			CHECK(value == ops[i].want[j]);
		}
	}
}

static void test_memory(void)
{
	static const struct test_case cases[] = {
		{ { 0x0a, 0x08, 0x50, 0x06 }, 4, 0, 0x0807060504030201 },
		{ { 0x0a, 0x00, 0x50, 0x94, 1 }, 5, 0, 0xf1 },
		{ { 0x0a, 0x00, 0x50, 0x94, 2 }, 5, 0, 0xf2f1 },
		{ { 0x0a, 0x00, 0x50, 0x94, 4 }, 5, 0, 0xf4f3f2f1 },
		{ { 0x0a, 0x00, 0x50, 0x94, 8 }, 5, 0, 0xf8f7f6f5f4f3f2f1 },
		{ { 0x0a, 0x00, 0x50, 0x94, 0 }, 5, -OW_EFORMAT, 0 },
		{ { 0x0a, 0x00, 0x50, 0x94, 9 }, 5, -OW_EFORMAT, 0 },
		{ { 0x0a, 0x09, 0x50, 0x06 }, 4, -OW_EFAULT, 0 },
		{ { 0x0a, 0xff, 0x4f, 0x06 }, 4, -OW_EFAULT, 0 },
		{ { 0x0a, 0x0f, 0x50, 0x94, 1 }, 5, 0, 8 },
	};
	uint64_t value;

	check_cases(&ow_arch_x86_64, cases, OW_ARRAY_SIZE(cases));
	set_up(&ow_arch_x86_64);
	CHECK(run(cases[7].code, 4, false, &value) == -OW_EFAULT);
	CHECK(x.fault == MEM + 9);
	x.mem = NULL;
	CHECK(run(cases[0].code, 4, false, &value) == -OW_EFAULT);
}

static void test_jumps(void)
{
	static const struct test_case cases[] = {
		/* skip 1; lit1; lit2: over the lit1 */
		{ { 0x2f, 1, 0, 0x31, 0x32 }, 5, 0, 2 },
		/* to the end, and beyond it */
		{ { 0x31, 0x2f, 1, 0, 0x32 }, 5, 0, 1 },
		{ { 0x31, 0x2f, 2, 0, 0x32 }, 5, -OW_EFORMAT, 0 },
		/* before the beginning */
		{ { 0x31, 0x2f, 0xfb, 0xff }, 4, -OW_EFORMAT, 0 },
		/* bra, taken and not */
		{ { 0x35, 0x31, 0x28, 1, 0, 0x36 }, 6, 0, 5 },
		{ { 0x35, 0x30, 0x28, 1, 0, 0x36 }, 6, 0, 6 },
		/* not taken: where it would go doesn't matter */
		{ { 0x35, 0x30, 0x28, 0xff, 0x7f, 0x36 }, 6, 0, 6 },
		/* lit0, lit10; over, plus, swap, lit1, minus, swap, over, bra:
		   10 + 9 + ... + 1 */
		{ { 0x3a, 0x30, 0x14, 0x22, 0x16, 0x31, 0x1c, 0x16, 0x14, 0x28,
		    0xf6, 0xff },
		  12,
		  0,
		  55 },
		/* for ever: without effect, and with the stack growing */
		{ { 0x2f, 0xfd, 0xff }, 3, -OW_ELIMIT, 0 },
		{ { 0x31, 0x2f, 0xfc, 0xff }, 4, -OW_ELIMIT, 0 },
		{ { 0x31, 0x12, 0x28, 0xfc, 0xff }, 5, -OW_ELIMIT, 0 },
	};

	check_cases(&ow_arch_x86_64, cases, OW_ARRAY_SIZE(cases));
}

static void test_limits(void)
{
	static uint8_t code[OW_EXPR_STEPS + 8];
	uint64_t value;

	set_up(&ow_arch_x86_64);
	memset(code, 0x31, OW_EXPR_DEPTH + 1);
	CHECK(run(code, OW_EXPR_DEPTH, false, &value) == 0);
	CHECK(run(code, OW_EXPR_DEPTH + 1, false, &value) == -OW_ELIMIT);
	CHECK(run(code, OW_EXPR_DEPTH, true, &value) == -OW_ELIMIT);
	/* A full stack is no obstacle to what doesn't grow it. */
	code[OW_EXPR_DEPTH] = 0x23; /* plus_uconst 4 */
	code[OW_EXPR_DEPTH + 1] = 4;
	CHECK(run(code, OW_EXPR_DEPTH + 2, false, &value) == 0 && value == 5);
	/* As many steps as are allowed, and one more. */
	memset(code, 0x96, sizeof(code));
	code[0] = 0x31;
	CHECK(run(code, OW_EXPR_STEPS, false, &value) == 0 && value == 1);
	CHECK(run(code, OW_EXPR_STEPS + 1, false, &value) == -OW_ELIMIT);
}

static uint8_t nops[OW_EXPR_STEPS];

/* An expression of so many operations; true if it could be run. */
static bool run_nops(size_t nr)
{
	uint64_t value;
	int err;

	memset(nops, 0x96, sizeof(nops));
	nops[0] = 0x31;
	err = run(nops, nr, false, &value);
	CHECK(err == 0 || err == -OW_ELIMIT);
	return !err;
}

/* What one leaves, others may run: first of the row's few, then of the walk's. */
static void test_left(void)
{
	set_up(&ow_arch_x86_64);
	x.left = 100;
	CHECK(run_nops(OW_EXPR_FEW - 4) && x.few == 4 && x.left == 100);
	CHECK(run_nops(64) && x.few == 0 && x.left == 40);
	CHECK(!run_nops(41) && x.left == 0);
	CHECK(!run_nops(1));
	x.few = OW_EXPR_FEW;
	CHECK(run_nops(OW_EXPR_FEW) && !run_nops(1));
}

static void test_left_of_run(void)
{
	uint64_t left = 100;

	set_up(&ow_arch_x86_64);
	x.run_left = &left;
	CHECK(run_nops(OW_EXPR_FEW) && left == 100);
	CHECK(run_nops(60) && left == 40 && x.left == OW_EXPR_LEFT - 60);
	CHECK(!run_nops(41) && left == 0);
	x.few = OW_EXPR_FEW;
	CHECK(run_nops(OW_EXPR_FEW) && !run_nops(1));
}

/* A read takes as long as many other operations. */
static void test_reads_left(void)
{
	static const uint8_t reads[] = { 0x0a, 0, 0x50, 0x06,
					 0x0a, 0, 0x50, 0x06 };
	uint64_t value;

	set_up(&ow_arch_x86_64);
	CHECK(run(reads, 8, false, &value) == 0);
	CHECK(x.few == OW_EXPR_FEW - 4 - 2 * OW_EXPR_READ);
	x.few = 0;
	x.left = 4 + 2 * OW_EXPR_READ;
	CHECK(run(reads, 8, false, &value) == 0 && x.left == 0);
	x.left = 3 + 2 * OW_EXPR_READ;
	CHECK(run(reads, 8, false, &value) == -OW_ELIMIT);
}

static void test_cfa(void)
{
	static const uint8_t plus8[] = { 0x23, 8 };
	static const uint8_t cfa[] = { 0x9c };
	uint64_t value;

	set_up(&ow_arch_x86_64);
	CHECK(run(plus8, 2, true, &value) == 0 && value == CFA + 8);
	CHECK(run(cfa, 0, true, &value) == 0 && value == CFA);
	/* The expression of the CFA itself can't ask for it. */
	x.has_cfa = false;
	CHECK(run(cfa, 1, false, &value) == -OW_EUNSUPPORTED);
}

static void test_32_bits(void)
{
	static const struct test_case cases[] = {
		{ { CONST_M1 }, 2, 0, 0xffffffff },
		{ { CONST_M1, 0x31, 0x22 }, 4, 0, 0 },
		{ { CONST_M1, 0x23, 2 }, 4, 0, 1 },
		{ { 0x30, 0x31, 0x1c }, 3, 0, 0xffffffff },
		{ { 0x30, 0x20 }, 2, 0, 0xffffffff },
		{ { 0x35, 0x1f }, 2, 0, 0xfffffffb },
		{ { CONST_M1, 0x19 }, 3, 0, 1 },
		{ { 0x31, 0x08, 31, 0x24 }, 4, 0, 0x80000000 },
		{ { 0x31, 0x08, 32, 0x24 }, 4, 0, 0 },
		{ { CONST_M1, 0x34, 0x26 }, 4, 0, 0xffffffff },
		{ { CONST_M1, 0x08, 99, 0x26 }, 5, 0, 0xffffffff },
		{ { CONST_M1, 0x08, 31, 0x25 }, 5, 0, 1 },
		/* INT32_MIN / -1 */
		{ { 0x0c, 0, 0, 0, 0x80, CONST_M1, 0x1b }, 8, 0, 0x80000000 },
		{ { CONST_M1, CONST_M1, 0x1e }, 5, 0, 1 },
		{ { 0x0e, 1, 2, 3, 4, 5, 6, 7, 8 }, 9, 0, 0x04030201 },
		/* addr and deref have 4 bytes */
		{ { 0x03, 0x34, 0x12, 0, 0 }, 5, 0, BIAS + 0x1234 },
		{ { 0x03, 0, 0, 0xf0, 0xff }, 5, 0, 0 },
		{ { 0x0a, 0x08, 0x50, 0x06 }, 4, 0, 0x04030201 },
		{ { 0x0a, 0x08, 0x50, 0x94, 8 }, 5, -OW_EFORMAT, 0 },
		/* breg4 (esp) 8; eip isn't known; 9 isn't there */
		{ { 0x74, 8 }, 2, 0, 0x1008 },
		{ { 0x78, 0 }, 2, -OW_EUNKNOWN, 0 },
		{ { 0x79, 0 }, 2, -OW_EUNSUPPORTED, 0 },
	};

	check_cases(&ow_arch_i386, cases, OW_ARRAY_SIZE(cases));
}

/* All opcodes that are none of ours: refused, with or without operands. */
static void test_what_is_refused(void)
{
	static const uint8_t ours[] = { 0x03, 0x06, 0x92, 0x94, 0x96, 0x9c };
	uint64_t value;
	unsigned int op;
	size_t i;

	for (op = 0; op < 0x100; op++) {
		uint8_t code[] = { 0x31, 0x31, 0x31, (uint8_t)op, 0, 0,
				   0,    0,    0,    0,           0, 0 };
		bool known = (op >= 0x08 && op <= 0x17) ||
			     (op >= 0x19 && op <= 0x4f) ||
			     (op >= 0x70 && op <= 0x8f);

		for (i = 0; i < OW_ARRAY_SIZE(ours); i++)
			known = known || op == ours[i];
		set_up(&ow_arch_aarch64);
		regs.known = (uint64_t)-1;
		if (!known)
			CHECK(run(code, sizeof(code), false, &value) ==
			      -OW_EUNSUPPORTED);
	}
}

int main(void)
{
	static const struct test tests[] = {
		{ "literals and registers", test_literals },
		{ "stack", test_stack },
		{ "arithmetic", test_arithmetic },
		{ "comparisons", test_comparisons },
		{ "memory", test_memory },
		{ "jumps", test_jumps },
		{ "limits", test_limits },
		{ "what a walk may run", test_left },
		{ "what a run may run", test_left_of_run },
		{ "what reads count as", test_reads_left },
		{ "CFA", test_cfa },
		{ "32 bits", test_32_bits },
		{ "what is refused", test_what_is_refused },
	};

	return test_main(tests, OW_ARRAY_SIZE(tests));
}
