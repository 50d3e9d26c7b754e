// SPDX-License-Identifier: BSD-2-Clause
/* Expressions that say no more than a register, an offset, a word and a sum. */
#include "rowexpr.h"

#include <string.h>

#include "test.h"

#define RBX 3 /* the slot, and DWARF's number */
#define RSP 7

static const struct {
	const char *code;
	size_t size;
	bool is;
	struct ow_plainexpr want;
} cases[] = {
	{ "\x73\x08", 2, true, { RBX, false, 8, 0 } },
	{ "\x77\x70", 2, true, { RSP, false, -16, 0 } },
	{ "\x73\x08\x06", 3, true, { RBX, true, 8, 0 } },
	/* DW_OP_plus_uconst, as OpenSSL's assembly has it */
	{ "\x77\x08\x06\x23\x08", 5, true, { RSP, true, 8, 8 } },
	{ "\x73\x08\x06\x23\x80\x01", 6, true, { RBX, true, 8, 128 } },
	/* DW_OP_lit16 and DW_OP_plus, as SBCL's */
	{ "\x73\x00\x06\x40\x22", 5, true, { RBX, true, 0, 16 } },
	{ "\x73\x00\x06\x4f\x22", 5, true, { RBX, true, 0, 31 } },
	{ "", 0, false, { 0 } },
	{ "\x73", 1, false, { 0 } },                     /* no offset */
	{ "\x73\x08\x22", 3, false, { 0 } },             /* not a word */
	{ "\x73\x08\x06\x06", 4, false, { 0 } },         /* twice */
	{ "\x73\x08\x06\x40", 4, false, { 0 } },         /* no sum */
	{ "\x73\x08\x06\x40\x1c", 5, false, { 0 } },     /* a difference */
	{ "\x73\x08\x06\x50\x22", 5, false, { 0 } },     /* DW_OP_reg0 */
	{ "\x73\x08\x06\x23", 4, false, { 0 } },         /* no number */
	{ "\x73\x08\x06\x23\x08\x06", 6, false, { 0 } }, /* and more */
	{ "\x73\x08\x06\x23\x80\x80\x80\x80\x08", 9, false, { 0 } },
	{ "\x8f\x08", 2, false, { 0 } }, /* a register that isn't followed */
};

static void test_plain(void)
{
	struct ow_plainexpr got;
	struct ow_rowexpr e;
	size_t i;

	for (i = 0; i < OW_ARRAY_SIZE(cases); i++) {
		e = (struct ow_rowexpr){ .code = (const uint8_t *)cases[i].code,
					 .size = cases[i].size };
		memset(&got, 0, sizeof(got));
		CHECK(ow_rowexpr_plain(&ow_arch_x86_64, &e, &got) ==
		      cases[i].is);
		if (!cases[i].is)
			continue;
		CHECK(got.reg == cases[i].want.reg);
		CHECK(got.deref == cases[i].want.deref);
		CHECK(got.off == cases[i].want.off);
		CHECK(got.add == cases[i].want.add);
	}
}

int main(void)
{
	static const struct test tests[] = {
		{ "plain expressions", test_plain },
	};

	return test_main(tests, OW_ARRAY_SIZE(tests));
}
