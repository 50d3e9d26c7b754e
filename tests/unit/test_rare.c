// SPDX-License-Identifier: BSD-2-Clause
/*
 * Rows that a table leaves to the CFI: made of assembled functions, whole; and
 * bytes that are refused.
 */
#include "rare.h"

#include <stdlib.h>
#include <string.h>

#include "bytes.h"
#include "error.h"
#include "raregen.h"
#include "sayrow.h"
#include "scratch.h"
#include "tablegen.h"
#include "test.h"

#define PLT                                                               \
	".cfi_escape 0xf,11,0x77,8,0x80,0,0x3f,0x1a,0x3b,0x2a,0x33,0x24," \
	"0x22\n"
#define AT_RBP ".cfi_escape 0xf,3,0x76,0x78,0x06\n"

static struct ow_rule rules[OW_MAX_REGS];

/* All rows of an object's table that are rare, as ow_rare_find() gives them. */
static void list(struct text *t, const struct ow_table *table,
		 const struct ow_rare *r)
{
	struct ow_row row;
	uint32_t i;

	for (i = 0; i < r->nr_rows; i++) {
		say(t, "%#x %#x ", r->rows[i].start, r->rows[i].end);
		ow_rare_find(r, table->base + r->rows[i].end - 1, &row, rules);
		say_row(t, r->arch, &row);
		say(t, "\n");
	}
}

static void rows_are(const char *source, const char *want)
{
	struct ow_bytebuf b = { .bytes = NULL };
	struct text t = { .size = 0 };
	struct ow_table_stats stats;
	struct ow_object *obj;
	struct ow_table table;
	struct ow_error err;
	struct ow_rare r;
	uint8_t *bytes;
	uint32_t at = 0;
	size_t size;

	scratch_write("a.s", source);
	CHECK(scratch_run("cc -nostdlib -shared -Wl,-Ttext=0x10000 a.s -o "
			  "a.so"));
	obj = ow_object_open("a.so", &err);
	CHECK(obj && ow_object_load_cfi(obj, &err) == 0);
	bytes = ow_table_generate(obj, &size, &stats, NULL, &err);
	CHECK(bytes && ow_table_open(&table, bytes, size) == 0);
	ow_rare_generate(obj, &table, NULL, &b);
	CHECK(!b.failed);
	if (b.size) {
		CHECK(ow_rare_open(&r, table.arch, table.base, b.bytes,
				   b.size) == 0);
		CHECK(ow_rare_verify(&r, &at, 1) == (r.nr_rows > 1));
		CHECK(ow_rare_verify(&r, &at, UINT32_MAX) == 0);
		list(&t, &table, &r);
		CHECK(ow_rare_find(&r, table.base + 0x1000, NULL, rules) ==
		      -OW_EUNSUPPORTED);
		CHECK(ow_rare_find(&r, table.base - 1, NULL, rules) ==
		      -OW_EUNSUPPORTED);
	}
	t.at[t.size] = '\0';
	CHECK_TEXT(&t, want);
	ow_bytebuf_deinit(&b);
	free(bytes);
	ow_object_close(obj);
}

static void test_what_is_usual_is_not_rare(void)
{
	rows_are("f: .cfi_startproc\n"
		 "push %rbp\n .cfi_def_cfa_offset 16\n"
		 ".cfi_offset rbp, -16\n nop\n .cfi_endproc\n",
		 "");
}

/* Its expression is kept; a row of the same functions is kept once. */
static void test_stubs(void)
{
	rows_are("f: .cfi_startproc\n .fill 16,1,0x90\n .cfi_endproc\n"
		 "g: .cfi_startproc\n" PLT ".fill 16,1,0x90\n .cfi_endproc\n"
		 "h: .cfi_startproc\n .fill 16,1,0x90\n .cfi_endproc\n"
		 "i: .cfi_startproc\n" PLT ".fill 16,1,0x90\n .cfi_endproc\n",
		 "0x10 0x20 cfa=expr@0 rip=[cfa-8] last\n"
		 "0x30 0x40 cfa=expr@0 rip=[cfa-8] last\n");
}

/* What is a register and an offset needs no expression. */
static void test_a_realigned_stack(void)
{
	rows_are("f: .cfi_startproc\n .cfi_def_cfa r10, 0\n .fill 4,1,0x90\n"
		 ".cfi_escape 0x10,6,2,0x76,0\n .fill 4,1,0x90\n" AT_RBP
		 ".fill 4,1,0x90\n"
		 ".cfi_escape 0x10,3,2,0x76,0x70\n .fill 4,1,0x90\n"
		 ".cfi_def_cfa rsp, 8\n nop\n .cfi_endproc\n",
		 "0x4 0x8 cfa=r10+0 rbp=[rbp+0] rip=[cfa-8]\n"
		 "0x8 0xc cfa=[rbp-8] rbp=[rbp+0] rip=[cfa-8]\n"
		 "0xc 0x10 cfa=[rbp-8] rbx=[rbp-16] rbp=[rbp+0] rip=[cfa-8]\n"
		 "0x10 0x11 cfa=rsp+8 rbx=[rbp-16] rbp=[rbp+0] rip=[cfa-8] "
		 "last\n");
}

/* A loop, and an address of the object's own: the CFI alone tells. */
static void test_what_may_not_stand_there(void)
{
	rows_are("f: .cfi_startproc\n"
		 ".cfi_escape 0xf,5,0x77,0,0x2f,0xfd,0xff\n .fill 4,1,0x90\n"
		 ".cfi_escape 0xf,9,3,1,2,3,4,5,6,7,8\n .fill 4,1,0x90\n" AT_RBP
		 ".fill 4,1,0x90\n .cfi_endproc\n",
		 "0x8 0xc cfa=[rbp-8] rip=[cfa-8] last\n");
}

/* Operations, one way and another; 0 is refused. */
static void test_expressions(void)
{
	static const struct {
		unsigned int ops;
		uint8_t size, code[12];
	} all[] = {
		{ 9,
		  11,
		  { 0x77, 8, 0x80, 0, 0x3f, 0x1a, 0x3b, 0x2a, 0x33, 0x24,
		    0x22 } },
		{ 0, 0, { 0 } },
		{ 1, 1, { 0x30 } },
		{ 0, 1, { 0x70 } },             /* no operand */
		{ 0, 3, { 0x0c, 1, 2 } },       /* not all of it */
		{ 1, 5, { 0x0c, 1, 2, 3, 4 } }, /* const4u */
		{ 2, 3, { 0x08, 0x2f, 0x96 } }, /* a jump as operand */
		{ 0, 4, { 0x30, 0x28, 0, 0 } }, /* bra */
		{ 0, 3, { 0x2f, 0, 0 } },       /* skip */
		{ 0, 9, { 0x03, 1, 2, 3, 4 } }, /* addr */
		{ 0, 3, { 0x92, 7, 0 } },       /* bregx */
		{ 0, 2, { 0x8f, 0 } },          /* a register nobody has */
		{ 0, 2, { 0x15, 0 } },          /* pick */
		{ 0, 1, { 0x9c } },             /* call_frame_cfa */
		{ 0, 1, { 0xff } },             /* none */
		{ 0,
		  12,
		  { 0x10, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
		    0x7f, 0x96 } }, /* more than 64 bits */
	};

	uint8_t many[OW_RARE_MAX_OPS + 1], *code;
	size_t i;

	for (i = 0; i < OW_ARRAY_SIZE(all); i++) {
		code = exact(all[i].code, all[i].size);
		CHECK(ow_rare_ops(&ow_arch_x86_64, code, all[i].size) ==
		      all[i].ops);
		free(code);
	}
	memset(many, 0x96, sizeof(many));
	CHECK(ow_rare_ops(&ow_arch_x86_64, many, OW_RARE_MAX_OPS) ==
	      OW_RARE_MAX_OPS);
	CHECK(ow_rare_ops(&ow_arch_x86_64, many, sizeof(many)) == 0);
}

enum {
	ROWS = sizeof(struct ow_rare_head),
	RULES = ROWS + 2 * sizeof(struct ow_rare_row),
	EXPRS = RULES + 3 * sizeof(struct ow_rare_rule),
	SIZE = EXPRS + 4,
};

/* Two rows of one CFA each, the first with a register by an expression. */
static void put_sound(struct bytes *b)
{
	static const struct ow_rare_head head = { OW_RARE_MAGIC, 2, 3, 4 };
	static const struct ow_rare_row rows[] = {
		{ 0, 16, 0, 1, 0, 16, 0 },
		{ 16, 20, 2, 0, OW_RARE_OUTERMOST, 16, 0 },
	};
	static const struct ow_rare_rule some[] = {
		{ 0, OW_RARE_REG, 7, 0, 8 },
		{ 16, OW_RARE_AT_EXPR, 0, 0, 0 },
		{ 0, OW_RARE_AT_REG, 6, 0, -8 },
	};
	static const uint8_t expr[] = { 3, 0x77, 0, 0x96 };

	b->size = 0;
	put_block(b, &head, sizeof(head));
	put_block(b, rows, sizeof(rows));
	put_block(b, some, sizeof(some));
	put_block(b, expr, sizeof(expr));
}

static int check(const struct bytes *b, size_t size)
{
	uint8_t *copy = exact(b->at, size);
	struct ow_rare r;
	uint32_t at = 0;
	int err = ow_rare_open(&r, &ow_arch_x86_64, 0x1000, copy, size);

	if (!err)
		err = ow_rare_verify(&r, &at, UINT32_MAX);
	free(copy);
	return err;
}

static void test_what_is_refused(void)
{
	static const struct {
		size_t at, size;
		uint64_t value;
	} damages[] = {
		{ 0, 4, 1 },           /* magic */
		{ 4, 4, 3 },           /* more rows than there are */
		{ 8, 4, 0xffffffff },  /* rules */
		{ 12, 4, 3 },          /* bytes left over */
		{ ROWS, 4, 16 },       /* an empty row */
		{ ROWS + 4, 4, 17 },   /* one over the next */
		{ ROWS + 8, 4, 3 },    /* rules behind the last */
		{ ROWS + 12, 1, 3 },   /* too many */
		{ ROWS + 12, 1, 255 }, /* more than there are registers */
		{ ROWS + 13, 1, 8 },   /* a flag */
		{ ROWS + 14, 1, 17 },  /* a return address nowhere */
		{ ROWS + 15, 1, 1 },   /* reserved */
		{ RULES, 1, 1 },       /* a CFA that is a register's */
		{ RULES + 1, 1, OW_RARE_AT_CFA }, /* or of itself */
		{ RULES + 2, 1, 200 },            /* of no register */
		{ RULES + 3, 1, 1 },              /* reserved */
		{ RULES + 8, 1, 17 },             /* a register that isn't */
		{ RULES + 9, 1, 0 },              /* no kind */
		{ RULES + 9, 1, OW_RARE_NR_KINDS },
		{ RULES + 12, 4, 4 },          /* an expression behind */
		{ RULES + 12, 4, 0xffffffff }, /* all of them */
		{ EXPRS, 1, 4 },               /* too long */
		{ EXPRS, 1, 0 },               /* none */
		{ EXPRS + 3, 1, 0x2f },        /* a jump */
	};
	struct bytes b;
	size_t i;

	put_sound(&b);
	CHECK(check(&b, SIZE) == 0);
	for (i = 0; i < SIZE; i++)
		CHECK(check(&b, i) == -OW_EFORMAT);
	for (i = 0; i < OW_ARRAY_SIZE(damages); i++) {
		put_sound(&b);
		patch(&b, damages[i].at, damages[i].size, damages[i].value);
		if (check(&b, SIZE) != -OW_EFORMAT)
			printf("# damage %zu\n", i);
		CHECK(check(&b, SIZE) == -OW_EFORMAT);
	}
}

int main(void)
{
	static const struct test tests[] = {
		{ "what is usual is not rare", test_what_is_usual_is_not_rare },
		{ "stubs", test_stubs },
		{ "a realigned stack", test_a_realigned_stack },
		{ "what may not stand there", test_what_may_not_stand_there },
		{ "expressions", test_expressions },
		{ "what is refused", test_what_is_refused },
	};

	scratch_enter();
	return test_main(tests, OW_ARRAY_SIZE(tests));
}
