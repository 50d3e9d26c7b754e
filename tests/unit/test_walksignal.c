// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* Walks across signal frames, and the code that a handler returns to. */
#include "walkmake.h"

/* x86-64: a handler that a table knows returns to the trampoline. */
static void put_trampoline(uint8_t *at, size_t i)
{
	const struct ow_sigframe *sf = &fake.target.arch->sigframes[i];

	memcpy(at, sf->code, sf->code_size);
}

static void set_up_signal(uint64_t trampoline)
{
	set_up(&ow_arch_x86_64);
	set_pc(TABLED + 0x1010);
	poke(STACK, trampoline);
	poke(STACK + 8 + 40 + 8 * 15, STACK + 0x200);
	poke(STACK + 8 + 40 + 8 * 18, 0x33); /* cs, with gs, fs, ss beside */
	/* at a function's first byte: looked up there, not one before */
	poke(STACK + 8 + 40 + 8 * 16, MODULE + OUTERMOST);
}

static void test_trampoline_x86_64(void)
{
	set_up_signal(JIT + 0x100);
	put_trampoline(code_bytes + 0x100, 0);
	CHECK_TEXT(run(), "401010@0 registers; 600100@8 table r s; "
			  "501100@200 signal; complete");
	CHECK(ow_frame_lookup_pc(&frames[0]) == TABLED + 0x1010);
	CHECK(ow_frame_lookup_pc(&frames[1]) == JIT + 0x100);
	CHECK(ow_frame_lookup_pc(&frames[2]) == MODULE + OUTERMOST);
	/* the other form, at the very end of readable code */
	set_up_signal(JIT + JIT_SIZE - 7);
	put_trampoline(code_bytes + JIT_SIZE - 7, 1);
	CHECK_TEXT(run(), "401010@0 registers; 6001f9@8 table r s; "
			  "501100@200 signal; complete");
	/* right behind a function that a table knows */
	set_up_signal(END_CODE);
	put_trampoline(code2_bytes, 0);
	CHECK_TEXT(run(), "401010@0 registers; 402000@8 table r s; "
			  "501100@200 signal; complete");
}

/*
 * A table leaves the trampoline to the CFI, which here is of no use: only where
 * the stack and the code say so is it not asked.
 */
static void test_trampoline_escape(void)
{
	const struct ow_window stack = { STACK, STACK_SIZE, stack_bytes };
	uint64_t at = TABLED + MALFORMED + 0x10;

	set_up_signal(at);
	make_table(&ow_arch_x86_64, MALFORMED, OW_TABLE_ESCAPE);
	tabled.cfi = &cfi;
	fake.code2.start = at;
	put_trampoline(code2_bytes, 0);
	CHECK_TEXT(run_in(&stack, NULL),
		   "401010@0 registers; 401410@8 table r s; "
		   "501100@200 signal; complete");
	poke(STACK + 8 + 40 + 8 * 18, 0x34);
	CHECK_TEXT(run_in(&stack, NULL),
		   "401010@0 registers; 401410@8 table r; "
		   "malformed unwind information for pc");
	poke(STACK + 8 + 40 + 8 * 18, 0x33);
	code2_bytes[0]++;
	CHECK_TEXT(run_in(&stack, NULL),
		   "401010@0 registers; 401410@8 table r; "
		   "malformed unwind information for pc");
}

/* What the table knows to be one needs neither code nor mark nor CFI. */
static void test_trampoline_known(void)
{
	uint64_t at = TABLED + MALFORMED + 0x10;

	set_up_signal(at);
	make_table(&ow_arch_x86_64, MALFORMED, OW_TABLE_SIGNAL);
	CHECK_TEXT(run(), "401010@0 registers; 401410@8 table r s; "
			  "501100@200 signal; complete");
	poke(STACK + 8 + 40 + 8 * 18, 0x34);
	CHECK_TEXT(run(), "401010@0 registers; 401410@8 table r s; "
			  "501100@200 signal; complete");
}

/*
 * In a kernel there is no CFI, and no window yet: rows that the table leaves came
 * with it, but none of them is this one.
 */
static void test_trampoline_rare(void)
{
	static const struct ow_rare none = { .arch = &ow_arch_x86_64 };
	uint64_t at = TABLED + MALFORMED + 0x10;

	set_up_signal(at);
	make_table(&ow_arch_x86_64, MALFORMED, OW_TABLE_ESCAPE);
	tabled.rare = &none;
	fake.code2.start = at;
	put_trampoline(code2_bytes, 0);
	CHECK_TEXT(run(), "401010@0 registers; 401410@8 table r s; "
			  "501100@200 signal; complete");
	/* innermost, behind its call of the kernel */
	set_pc(at + fake.target.arch->sigframes[0].code_size);
	ow_regs_set(&regs, fake.target.arch->sp, STACK + 8);
	CHECK_TEXT(run(), "401419@8 registers s; 501100@200 signal; complete");
}

/* While the trampoline's call of the kernel runs. */
static void test_returning(void)
{
	set_up(&ow_arch_x86_64);
	put_trampoline(code_bytes + 0x100, 0);
	set_pc(JIT + 0x109);
	set_fp(0);
	poke(STACK + 40 + 8 * 15, STACK + 0x200);
	poke(STACK + 40 + 8 * 18, 0x33);
	poke(STACK + 40 + 8 * 16, MODULE + OUTERMOST);
	CHECK_TEXT(run(), "600109@0 registers s; 501100@200 signal; complete");
	/* no signal frame is there */
	poke(STACK + 40 + 8 * 18, 0);
	CHECK_TEXT(run(), "600109@0 registers; no unwind information for pc");
	/* nor does one return to behind the call */
	set_up_signal(JIT + 0x109);
	set_fp(0);
	put_trampoline(code_bytes + 0x100, 0);
	CHECK_TEXT(run(), "401010@0 registers; 600109@8 table r; "
			  "no unwind information for pc");
}

/* While the trampoline itself runs. */
static void test_trampoline_i386(void)
{
	set_up(&ow_arch_i386);
	put_trampoline(code_bytes, 0);
	set_pc(JIT);
	poke(STACK + 4 + 16 + 4 * 3, STACK + 0x200);
	poke(STACK + 4 + 16 + 4 * 10, MODULE + OUTERMOST);
	CHECK_TEXT(run(), "600000@0 registers s; 501100@200 signal; complete");
	/* behind its pop, and while its call of the kernel runs */
	set_up(&ow_arch_i386);
	put_trampoline(code_bytes, 0);
	set_pc(JIT + 1);
	poke(STACK + 16 + 4 * 3, STACK + 0x200);
	poke(STACK + 16 + 4 * 10, MODULE + OUTERMOST);
	poke(STACK + 16 + 4 * 11, 0x23); /* cs */
	CHECK_TEXT(run(), "600001@0 registers s; 501100@200 signal; complete");
	set_pc(JIT + 8);
	CHECK_TEXT(run(), "600008@0 registers s; 501100@200 signal; complete");
	set_up(&ow_arch_i386);
	put_trampoline(code_bytes, 2);
	set_pc(JIT);
	poke(STACK + 160 + 16 + 4 * 3, STACK + 0x200);
	poke(STACK + 160 + 16 + 4 * 10, MODULE + OUTERMOST);
	CHECK_TEXT(run(), "600000@0 registers s; 501100@200 signal; complete");
}

static void test_trampoline_aarch64(void)
{
	set_up(&ow_arch_aarch64);
	put_trampoline(code_bytes, 0);
	set_pc(JIT);
	poke(STACK + 312 + 8 * 30, MODULE + OUTERMOST + 0x10);
	poke(STACK + 312 + 8 * 31, STACK + 0x400);
	poke(STACK + 312 + 8 * 32, MODULE + LEAF);
	/* interrupted in a leaf: x30 is what the signal frame holds */
	CHECK_TEXT(run(), "600000@0 registers s; 501600@400 signal; "
			  "501110@400 eh_frame r; complete");
}

/* A CIE that says S: the caller was interrupted. */
static void test_signal_by_cfi(void)
{
	set_up(&ow_arch_x86_64);
	set_pc(MODULE + INTERRUPTED + 5);
	poke(STACK + 0x10, MODULE + OUTERMOST);
	CHECK_TEXT(run(), "501305@0 registers s; 501100@20 eh_frame; "
			  "complete");
}

/* Signal frames may lead anywhere, also round in a circle. */
static void test_cycle_of_signals(void)
{
	set_up(&ow_arch_x86_64);
	put_trampoline(code_bytes, 0);
	set_pc(JIT);
	poke(STACK + 40 + 8 * 15, STACK); /* sp and pc: the same again */
	poke(STACK + 40 + 8 * 16, JIT);
	CHECK_TEXT(run(), "600000@0 registers s; "
			  "the stack does not go on towards its base");
	poke(STACK + 40 + 8 * 15, STACK + 0x200); /* there and back */
	poke(STACK + 0x200 + 40 + 8 * 15, STACK);
	poke(STACK + 0x200 + 40 + 8 * 16, JIT);
	run();
	CHECK(walk.end == OW_END_CYCLE && walk.nr <= 6);
}

/* The same byte as a pc, then before a trampoline as a return address. */
static void test_cache_and_trampoline(void)
{
	static struct ow_brief briefs[16];
	struct ow_cache cache = { briefs, OW_ARRAY_SIZE(briefs) / 2 - 1, 0 };

	set_up_signal(END_CODE);
	put_trampoline(code2_bytes, 0);
	set_pc(END_CODE - 1);
	CHECK_TEXT(run_with(&cache, MAX_FRAMES),
		   "401fff@0 registers; 402000@8 table r s; "
		   "501100@200 signal; complete");
	set_pc(END_CODE - 1);
	poke(STACK, MODULE + OUTERMOST + 0x10);
	CHECK_TEXT(run_with(&cache, MAX_FRAMES),
		   "401fff@0 registers; 501110@8 table r; complete");
}

int main(void)
{
	static const struct test tests[] = {
		{ "trampoline that a table leaves", test_trampoline_escape },
		{ "trampoline that a table knows", test_trampoline_known },
		{ "trampoline without CFI", test_trampoline_rare },
		{ "trampoline of x86-64", test_trampoline_x86_64 },
		{ "trampoline that has called", test_returning },
		{ "trampoline of i386", test_trampoline_i386 },
		{ "trampoline of aarch64", test_trampoline_aarch64 },
		{ "signal by CFI", test_signal_by_cfi },
		{ "cycle of signals", test_cycle_of_signals },
		{ "cache and trampoline", test_cache_and_trampoline },
	};

	return test_main(tests, OW_ARRAY_SIZE(tests));
}
