// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#include "sayrow.h"
#include "test.h"

static const struct ow_arch *const arches[] = {
	&ow_arch_x86_64,
	&ow_arch_i386,
	&ow_arch_aarch64,
};

static void test_find(void)
{
	CHECK(ow_arch_find(62, true) == &ow_arch_x86_64);
	CHECK(ow_arch_find(62, false) == NULL); /* x32 */
	CHECK(ow_arch_find(3, false) == &ow_arch_i386);
	CHECK(ow_arch_find(3, true) == NULL);
	CHECK(ow_arch_find(183, true) == &ow_arch_aarch64);
	CHECK(ow_arch_find(183, false) == NULL); /* ILP32 */
	CHECK(ow_arch_find(0, true) == NULL);
}

/* What the rest of the core takes for granted of every architecture. */
static void test_each_is_in_order(void)
{
	size_t i, j;

	for (i = 0; i < OW_ARRAY_SIZE(arches); i++) {
		const struct ow_arch *a = arches[i];

		CHECK(a->nr_regs <= OW_MAX_REGS);
		CHECK(a->pc < a->nr_regs && a->sp < a->nr_regs);
		CHECK(a->fp < a->nr_regs && a->ra < a->nr_regs);
		CHECK((a->callee_saved & ~(((uint64_t)1 << a->nr_regs) - 1)) ==
		      0);
		CHECK(a->callee_saved >> a->sp & a->callee_saved >> a->fp & 1);
		for (j = 0; j < a->nr_regs; j++)
			CHECK(a->names[j] && *a->names[j]);
		for (j = 0; j < 256; j++) {
			uint8_t slot = ow_arch_slot(a, j);

			CHECK(slot < a->nr_regs || slot == OW_SLOT_NONE);
			CHECK(j < a->nr_slots || slot == OW_SLOT_NONE);
		}
		CHECK(ow_arch_slot(a, ~(uint64_t)0) == OW_SLOT_NONE);
		CHECK(a->nr_sigframes > 0);
		for (j = 1; j < a->nr_sigframes; j++)
			CHECK(a->sigframes[j].code_size <=
			      a->sigframes[j - 1].code_size);
	}
}

static void test_slots_by_name(void)
{
	static const struct {
		const struct ow_arch *arch;
		uint64_t dwarf;
		const char *name; /* NULL: not followed */
	} cases[] = {
		{ &ow_arch_x86_64, 0, "rax" },
		{ &ow_arch_x86_64, 1, "rdx" },
		{ &ow_arch_x86_64, 3, "rbx" },
		{ &ow_arch_x86_64, 4, "rsi" },
		{ &ow_arch_x86_64, 6, "rbp" },
		{ &ow_arch_x86_64, 7, "rsp" },
		{ &ow_arch_x86_64, 15, "r15" },
		{ &ow_arch_x86_64, 16, "rip" },
		{ &ow_arch_x86_64, 17, NULL },
		{ &ow_arch_i386, 1, "ecx" },
		{ &ow_arch_i386, 4, "esp" },
		{ &ow_arch_i386, 5, "ebp" },
		{ &ow_arch_i386, 8, "eip" },
		{ &ow_arch_i386, 9, NULL },
		{ &ow_arch_aarch64, 0, "x0" },
		{ &ow_arch_aarch64, 29, "x29" },
		{ &ow_arch_aarch64, 30, "x30" },
		{ &ow_arch_aarch64, 31, "sp" },
		{ &ow_arch_aarch64, 32, "pc" },
		{ &ow_arch_aarch64, 33, NULL },
		{ &ow_arch_aarch64, 34, "ra_sign_state" },
		{ &ow_arch_aarch64, 46, NULL },
		{ &ow_arch_aarch64, 64, NULL },
		{ &ow_arch_aarch64, 71, NULL },
		{ &ow_arch_aarch64, 72, "d8" },
		{ &ow_arch_aarch64, 79, "d15" },
		{ &ow_arch_aarch64, 80, NULL },
	};

	size_t i;

	for (i = 0; i < OW_ARRAY_SIZE(cases); i++) {
		const struct ow_arch *a = cases[i].arch;
		uint8_t slot = ow_arch_slot(a, cases[i].dwarf);

		CHECK((slot == OW_SLOT_NONE) == !cases[i].name);
		if (slot != OW_SLOT_NONE && cases[i].name)
			CHECK(strcmp(a->names[slot], cases[i].name) == 0);
	}
}

static void test_fallback_rows(void)
{
	static const char *const fp[] = {
		"cfa=rbp+16 rip=[cfa-8] rbp=[cfa-16]",
		"cfa=ebp+8 eip=[cfa-4] ebp=[cfa-8]",
		"cfa=x29+16 x30=[cfa-8] x29=[cfa-16]",
	};
	static const char *const call[] = {
		"cfa=rsp+8 rip=[cfa-8]",
		"cfa=esp+4 eip=[cfa-4]",
		"cfa=sp+0",
	};
	struct ow_rule rules[OW_MAX_REGS];
	struct ow_row row;
	size_t i;

	for (i = 0; i < OW_ARRAY_SIZE(arches); i++) {
		struct text t = { .size = 0 };

		ow_arch_fp_row(arches[i], &row, rules);
		say_row(&t, arches[i], &row);
		CHECK_TEXT(&t, fp[i]);
		CHECK(row.how == OW_HOW_FP && row.ra == arches[i]->ra);
		t.size = 0;
		ow_arch_call_row(arches[i], &row, rules);
		say_row(&t, arches[i], &row);
		CHECK_TEXT(&t, call[i]);
		CHECK(row.how == OW_HOW_CALL && row.ra == arches[i]->ra);
	}
}

static void test_signal_rows(void)
{
	static const char x86_64[] =
		"cfa=[rsp+160] r8=[rsp+40] r9=[rsp+48] r10=[rsp+56] "
		"r11=[rsp+64] r12=[rsp+72] r13=[rsp+80] r14=[rsp+88] "
		"r15=[rsp+96] rdi=[rsp+104] rsi=[rsp+112] rbp=[rsp+120] "
		"rbx=[rsp+128] rdx=[rsp+136] rax=[rsp+144] rcx=[rsp+152] "
		"rip=[rsp+168] signal";

	static const struct {
		const struct ow_arch *arch;
		size_t frame;
		const char *want;
	} cases[] = {
		{ &ow_arch_x86_64, 0, x86_64 },
		{ &ow_arch_x86_64, 1, x86_64 },
		{ &ow_arch_i386, 0,
		  "cfa=[esp+32] edi=[esp+20] esi=[esp+24] ebp=[esp+28] "
		  "ebx=[esp+36] edx=[esp+40] ecx=[esp+44] eax=[esp+48] "
		  "eip=[esp+60] signal" },
		{ &ow_arch_i386, 1,
		  "cfa=[esp+28] edi=[esp+16] esi=[esp+20] ebp=[esp+24] "
		  "ebx=[esp+32] edx=[esp+36] ecx=[esp+40] eax=[esp+44] "
		  "eip=[esp+56] signal" },
		{ &ow_arch_i386, 2,
		  "cfa=[esp+188] edi=[esp+176] esi=[esp+180] ebp=[esp+184] "
		  "ebx=[esp+192] edx=[esp+196] ecx=[esp+200] eax=[esp+204] "
		  "eip=[esp+216] signal" },
	};
	struct ow_row row;
	size_t i, size;

	for (i = 0; i < OW_ARRAY_SIZE(cases); i++) {
		const struct ow_arch *a = cases[i].arch;
		const struct ow_sigframe *sf = &a->sigframes[cases[i].frame];
		struct text t = { .size = 0 };

		CHECK(ow_arch_signal_row(a, sf->code, sf->code_size, &row));
		CHECK(row.ra == a->pc && row.how == OW_HOW_SIGNAL);
		say_row(&t, a, &row);
		CHECK_TEXT(&t, cases[i].want);
		for (size = 0; size < sf->code_size; size++)
			CHECK(!ow_arch_signal_row(a, sf->code, size, &row));
	}
}

int main(void)
{
	static const struct test tests[] = {
		{ "find", test_find },
		{ "each is in order", test_each_is_in_order },
		{ "slots", test_slots_by_name },
		{ "fallback rows", test_fallback_rows },
		{ "signal rows", test_signal_rows },
	};

	return test_main(tests, OW_ARRAY_SIZE(tests));
}
