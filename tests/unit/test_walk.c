// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* Walks: each way to the caller, and each end. */
#include "runbrief.h"
#include "walkmake.h"

/* table -> .eh_frame with a frame pointer -> the outermost function */
static void set_up_chain(void)
{
	set_up(&ow_arch_x86_64);
	set_pc(TABLED + 0x1010);
	set_fp(STACK + 0x40);
	poke(STACK, MODULE + WITH_FP + 0x10);
	poke(STACK + 0x40, 0);
	poke(STACK + 0x48, MODULE + OUTERMOST + 0x10);
}

#define CHAIN                                    \
	"401010@0 registers; 501010@8 table r; " \
	"501110@50 eh_frame r; complete"

static void test_chain(void)
{
	const struct ow_window window = { STACK, STACK_SIZE, stack_bytes };

	set_up_chain();
	CHECK_TEXT(run(), CHAIN);
	CHECK(walk.end == OW_END_OUTERMOST && walk.err == 0);
	/* The same from a copy of the stack. */
	fake.stack.size = 0;
	CHECK_TEXT(run_in(&window, NULL), CHAIN);
}

static void test_limit(void)
{
	set_up_chain();
	CHECK_TEXT(run_with(NULL, 0), "frame limit reached");
	CHECK_TEXT(run_with(NULL, 1), "401010@0 registers; "
				      "frame limit reached");
	CHECK_TEXT(run_with(NULL, 2), "401010@0 registers; 501010@8 table r; "
				      "frame limit reached");
	CHECK_TEXT(run_with(NULL, 4), CHAIN);
}

static void test_fault(void)
{
	set_up_chain();
	set_fp(STACK + STACK_SIZE - 8);
	CHECK_TEXT(run(), "401010@0 registers; 501010@8 table r; "
			  "memory of the frame could not be read");
	CHECK(walk.err == -OW_EFAULT);
	CHECK(walk.step.fault == STACK + STACK_SIZE);
	set_up_chain();
	fake.stack.size = 4;
	CHECK_TEXT(run(), "401010@0 registers; "
			  "memory of the frame could not be read");
	CHECK(walk.step.fault == STACK);
}

static void test_want_and_resume(void)
{
	enum ow_end end;

	set_up_chain();
	poke(STACK, LATER + WITH_FP + 0x10);
	CHECK_TEXT(run(), "401010@0 registers; 801010@8 table r; "
			  "module not read yet");
	CHECK(walk.wanted == &later && walk.end == OW_END_NOT_YET);
	/* Not ready yet: it is wanted still. */
	CHECK(ow_walk_run(&walk) == OW_END_WANT && walk.nr == 2);
	later.state = OW_MODULE_READY;
	end = ow_walk_run(&walk);
	CHECK_TEXT(said(end), "401010@0 registers; 801010@8 table r; "
			      "501110@50 eh_frame r; complete");
	/* An ended walk stays ended. */
	CHECK(ow_walk_run(&walk) == OW_END_OUTERMOST && walk.nr == 3);
}

static void test_no_module(void)
{
	set_up_chain();
	poke(STACK, 0x999999);
	CHECK_TEXT(run(), "401010@0 registers; 999999@8 table r; "
			  "pc is in no executable mapping");
}

static void test_bad_and_unsupported_rules(void)
{
	set_up_chain();
	set_pc(MODULE + MALFORMED);
	CHECK_TEXT(run(), "501400@0 registers; "
			  "malformed unwind information for pc");
	CHECK(walk.err == -OW_EFORMAT);
	set_pc(MODULE + UNKNOWN_OP);
	CHECK_TEXT(run(), "501500@0 registers; "
			  "unsupported unwind information for pc");
	CHECK(walk.err == -OW_EUNSUPPORTED);
}

static void test_unknown(void)
{
	set_up_chain();
	set_pc(MODULE + WITH_FP);
	regs.known &= ~((uint64_t)1 << ow_arch_x86_64.fp);
	CHECK_TEXT(run(), "501000@0 registers; "
			  "a register that the frame needs is not known");
	set_pc(JIT + 0x10);
	CHECK_TEXT(run(), "600010@0 registers; "
			  "a register that the frame needs is not known");
}

/* Have the JIT's code call, so that the call returns to pc. */
static void put_call(uint64_t pc)
{
	code_bytes[pc - 5 - JIT] = 0xe8;
}

static void test_frame_pointer(void)
{
	/* code of a JIT, then one with CFI, then the end */
	set_up(&ow_arch_x86_64);
	put_call(JIT + 0x20);
	set_pc(JIT + 0x10);
	set_fp(STACK + 0x20);
	poke(STACK + 0x20, STACK + 0x40);
	poke(STACK + 0x28, JIT + 0x20);
	poke(STACK + 0x40, STACK + 0x60);
	poke(STACK + 0x48, MODULE + WITH_FP + 0x10);
	poke(STACK + 0x68, 0);
	CHECK_TEXT(run(), "600010@0 registers; 600020@30 frame pointer r; "
			  "501010@50 frame pointer r; complete");
	/* Of a guess, only what it tells is known. */
	set_fp(STACK + 0x40);
	ow_regs_set(&regs, 3, 1);
	run_with(NULL, 2);
	CHECK(walk.regs.known == (1ULL << 16 | 1ULL << 7 | 1ULL << 6));
}

/* What a frame pointer leads to has called, or is a thread's first record. */
static void test_frame_pointer_without_call(void)
{
	set_up(&ow_arch_x86_64);
	set_pc(JIT + 0x10);
	set_fp(STACK + 0x20);
	poke(STACK + 0x20, STACK + 0x40);
	poke(STACK + 0x28, JIT + 0x20);
	CHECK_TEXT(run(), "600010@0 registers; no unwind information for pc");
	CHECK(walk.err == -OW_ENOENT);
	/* the first byte of a mapping follows nothing */
	poke(STACK + 0x28, JIT);
	CHECK_TEXT(run(), "600010@0 registers; no unwind information for pc");
	/* a call that would begin before the mapping */
	code_bytes[0] = 0xd0;
	poke(STACK + 0x28, JIT + 1);
	CHECK_TEXT(run(), "600010@0 registers; no unwind information for pc");
	/* a thread's first record */
	poke(STACK + 0x20, 0);
	poke(STACK + 0x28, JIT + 0x20);
	CHECK_TEXT(run(), "600010@0 registers; 600020@30 frame pointer r; "
			  "complete");
	/* a handler that returns to the kernel's trampoline */
	poke(STACK + 0x20, STACK + 0x40);
	memcpy(code_bytes + 0x20, "\xb8\x0f\0\0\0\x0f\x05", 7);
	run_with(NULL, 2);
	CHECK_TEXT(said(walk.end), "600010@0 registers; "
				   "600020@30 frame pointer r; "
				   "frame limit reached");
}

/*
 * Where the caller of JIT code aligns its stack, the frame pointer tells an sp
 * that is wrong: what is found by that has to be checked, cached or not.
 */
static void test_guessed_sp(void)
{
	struct ow_brief entries[8] = { 0 };
	struct ow_cache cache = { entries, 3, 0 };
	int i;

	set_up(&ow_arch_x86_64);
	put_call(JIT + 0x20);
	set_pc(JIT + 0x10);
	set_fp(STACK + 0x20);
	poke(STACK + 0x20, STACK + 0x40);
	poke(STACK + 0x28, TABLED + 0x1010);
	for (i = 0; i < 2; i++) {
		poke(STACK + 0x30, 1);
		CHECK_TEXT(run_with(&cache, MAX_FRAMES),
			   "600010@0 registers; 401010@30 frame pointer r; "
			   "no unwind information for pc");
		poke(STACK + 0x30, JIT + 0x40);
		CHECK_TEXT(run_with(&cache, MAX_FRAMES),
			   "600010@0 registers; 401010@30 frame pointer r; "
			   "no unwind information for pc");
		/* right by chance; the next row goes by a frame pointer */
		poke(STACK + 0x30, MODULE + WITH_FP + 0x10);
		poke(STACK + 0x48, MODULE + OUTERMOST + 0x10);
		CHECK_TEXT(run_with(&cache, MAX_FRAMES),
			   "600010@0 registers; 401010@30 frame pointer r; "
			   "501010@38 table r; 501110@50 eh_frame r; complete");
		/* what is found by that is none of a guess */
		poke(STACK + 0x48, 1);
		CHECK_TEXT(run_with(&cache, MAX_FRAMES),
			   "600010@0 registers; 401010@30 frame pointer r; "
			   "501010@38 table r; 1@50 eh_frame r; "
			   "pc is in no executable mapping");
	}
	CHECK(ow_cache_get(&cache, TABLED + 0x100f, 1));
}

static void test_frame_pointer_ends(void)
{
	static const struct {
		uint64_t fp;
		const char *want;
	} cases[] = {
		/* zero may be what the program started with */
		{ 0, "600010@0 registers; no unwind information for pc" },
		/* not aligned; below sp */
		{ STACK + 0x21,
		  "600010@0 registers; no unwind information for pc" },
		{ STACK - 8,
		  "600010@0 registers; no unwind information for pc" },
		/* a record without a return address into code */
		{ STACK + 0x80,
		  "600010@0 registers; no unwind information for pc" },
		{ STACK + STACK_SIZE,
		  "600010@0 registers; memory of the frame could not be read" },
		/* a record that is all zeros */
		{ STACK + 0x100, "600010@0 registers; complete" },
	};

	size_t i;

	for (i = 0; i < OW_ARRAY_SIZE(cases); i++) {
		set_up(&ow_arch_x86_64);
		set_pc(JIT + 0x10);
		set_fp(cases[i].fp);
		poke(STACK + 0x88, 0x999999);
		CHECK_TEXT(run(), cases[i].want);
	}
}

/*
 * A frame pointer of zero ends a stack where frame pointers led to it, or
 * where programs start.
 */
static void test_frame_pointer_zero(void)
{
	uint64_t pc = TABLED + 0x2000;

	/* table -> code without CFI, by a call from the entry point */
	set_up(&ow_arch_x86_64);
	set_pc(TABLED + 0x1010);
	set_fp(0);
	poke(STACK, pc + 0x10);
	CHECK_TEXT(run(), "401010@0 registers; 402010@8 table r; "
			  "no unwind information for pc");
	tabled.entry = 0x2000;
	CHECK_TEXT(run(), "401010@0 registers; 402010@8 table r; complete");
	poke(STACK, pc + 63);
	CHECK_TEXT(run(), "401010@0 registers; 40203f@8 table r; complete");
	poke(STACK, pc + 64);
	CHECK_TEXT(run(), "401010@0 registers; 402040@8 table r; "
			  "no unwind information for pc");
	/* innermost, it may not have been called at all */
	set_pc(pc);
	CHECK_TEXT(run(), "402000@0 registers; no unwind information for pc");
	/* by a frame pointer */
	set_pc(JIT + 0x10);
	set_fp(STACK + 0x20);
	poke(STACK + 0x28, JIT + 0x20);
	CHECK_TEXT(run(), "600010@0 registers; 600020@30 frame pointer r; "
			  "complete");
}

static void test_call_to_nowhere(void)
{
	set_up(&ow_arch_x86_64);
	set_pc(0);
	poke(STACK, TABLED + 0x1020);
	poke(STACK + 8, MODULE + OUTERMOST + 0x10);
	CHECK_TEXT(run(), "0@0 registers; 401020@8 bad call r; "
			  "501110@10 table r; complete");
	/* what stands there is no code */
	poke(STACK, 0x999999);
	CHECK_TEXT(run(), "0@0 registers; no unwind information for pc");
	/* aarch64 has it in x30 */
	set_up(&ow_arch_aarch64);
	set_pc(0x10);
	ow_regs_set(&regs, 30, MODULE + OUTERMOST + 0x10);
	CHECK_TEXT(run(), "10@0 registers; 501110@0 bad call r; complete");
	/* i386 */
	set_up(&ow_arch_i386);
	set_pc(0);
	poke(STACK, MODULE + OUTERMOST + 0x10);
	CHECK_TEXT(run(), "0@0 registers; 501110@4 bad call r; complete");
}

static void test_cycle(void)
{
	/* a frame pointer that leads to itself */
	set_up(&ow_arch_x86_64);
	set_pc(MODULE + WITH_FP + 0x10);
	set_fp(STACK + 0x40);
	poke(STACK + 0x40, STACK + 0x40);
	poke(STACK + 0x48, MODULE + WITH_FP + 0x20);
	CHECK_TEXT(run(), "501010@0 registers; 501020@50 eh_frame r; "
			  "the stack does not go on towards its base");
	/* and one that leads back */
	poke(STACK + 0x40, STACK + 0x20);
	poke(STACK + 0x28, MODULE + WITH_FP + 0x30);
	CHECK_TEXT(run(), "501010@0 registers; 501020@50 eh_frame r; "
			  "the stack does not go on towards its base");
	/* a leaf returns to a leaf: none can have called the other */
	set_up(&ow_arch_aarch64);
	set_pc(MODULE + LEAF);
	ow_regs_set(&regs, 30, MODULE + LEAF + 0x20);
	CHECK_TEXT(run(), "501600@0 registers; 501620@0 eh_frame r; "
			  "the stack does not go on towards its base");
}

/* An interrupt's stack may lie above the one that it came upon, or below. */
static void test_switched_stack(void)
{
	set_up(&ow_arch_x86_64);
	set_pc(KERNEL + 0x1010);
	ow_regs_set(&regs, ow_arch_x86_64.sp, STACK + 0x400);
	poke(STACK + 0x400, STACK + 0x100);
	poke(STACK + 0x110, MODULE + OUTERMOST + 0x10);
	CHECK_TEXT(run(), "901010@400 registers; 501110@118 orc r; complete");
	poke(STACK + 0x400, STACK + 0x600);
	poke(STACK + 0x610, MODULE + OUTERMOST + 0x10);
	CHECK_TEXT(run(), "901010@400 registers; 501110@618 orc r; complete");
	/* from one to the other and back, for ever */
	poke(STACK + 0x400, STACK + 0x100);
	poke(STACK + 0x110, KERNEL + 0x1010);
	poke(STACK + 0x118, STACK + 0x400 - 24);
	poke(STACK + 0x400 - 8, KERNEL + 0x1010);
	run();
	CHECK(walk.end == OW_END_CYCLE && walk.nr <= 6);
}

/* A return that enters a function, as it was pushed for that. */
static void test_entered_by_return(void)
{
	set_up(&ow_arch_x86_64);
	set_pc(KERNEL + 0x1200);
	poke(STACK, KERNEL + 0x1110);
	poke(STACK + 8, MODULE + OUTERMOST + 0x10);
	CHECK_TEXT(run(), "901200@0 registers; 901110@8 orc; "
			  "501110@10 orc r; complete");
	/* and one to where stacks begin */
	poke(STACK, KERNEL + 0x1310);
	CHECK_TEXT(run(), "901200@0 registers; 901310@8 orc; complete");
	/* one into code that nothing is known of */
	poke(STACK, KERNEL + 0x1108);
	CHECK_TEXT(run(), "901200@0 registers; 901108@8 orc r; "
			  "a register that the frame needs is not known");
	/* and one to where no call has left its return address above */
	poke(STACK, KERNEL + 0x1000);
	CHECK_TEXT(run(), "901200@0 registers; 901000@8 orc r; "
			  "a register that the frame needs is not known");
}

static void test_aarch64_leaf_and_record(void)
{
	set_up(&ow_arch_aarch64);
	set_pc(MODULE + LEAF);
	/* a signed return address */
	ow_regs_set(&regs, 30, 0x0025000000000000 + MODULE + WITH_FP + 0x10);
	set_fp(STACK + 0x40);
	poke(STACK + 0x40, STACK + 0x60);
	poke(STACK + 0x48, 0x0035000000000000 + JIT + 0x10);
	poke(STACK + 0x60, 0);
	poke(STACK + 0x68, MODULE + OUTERMOST + 0x10);
	CHECK_TEXT(run(), "501600@0 registers; 501010@0 eh_frame r; "
			  "600010@50 eh_frame r; 501110@70 frame pointer r; "
			  "complete");
	/* where its caller's sp is, a record doesn't tell */
	run_with(NULL, 4);
	CHECK(!ow_regs_known(&walk.regs, ow_arch_aarch64.sp));
}

static struct ow_brief entries[16];

/* The same with a cache, cold and warm. */
static void check_cached(const char *want)
{
	struct ow_cache cache = { entries, OW_ARRAY_SIZE(entries) / 2 - 1, 0 };

	memset(entries, 0, sizeof(entries));
	CHECK_TEXT(run(), want);
	CHECK_TEXT(run_with(&cache, MAX_FRAMES), want);
	CHECK_TEXT(run_with(&cache, MAX_FRAMES), want);
}

static void test_cache(void)
{
	struct ow_cache cache = { entries, OW_ARRAY_SIZE(entries) / 2 - 1, 0 };

	set_up_chain();
	check_cached(CHAIN);
	CHECK(ow_cache_get(&cache, TABLED + 0x1010, 1));
	CHECK(ow_cache_get(&cache, MODULE + WITH_FP + 0xf, 1));
	/* It is used: what the module says now doesn't count. */
	tabled.table = NULL;
	CHECK_TEXT(run_with(&cache, MAX_FRAMES), CHAIN);
	/* Until the map is another. */
	fake.target.map.generation = 2;
	set_fp(0);
	CHECK_TEXT(run_with(&cache, MAX_FRAMES),
		   "401010@0 registers; no unwind information for pc");
}

static unsigned int words_left;

static bool word_at_first(const uint8_t *at, uint64_t *ret)
{
	return words_left && words_left-- && ow_word_there(at, ret);
}

/* Along what is cached, from where the walk stands. */
static void run_brief(struct ow_cache *cache, unsigned int words,
		      struct ow_run *run)
{
	static const struct ow_window whole = { STACK, STACK_SIZE,
						stack_bytes };

	*run = (struct ow_run){
		.step = &walk.step,
		.stack = &whole,
		.cache = cache,
		.regs = &walk.regs,
		.frame = &walk.frames[walk.nr - 1],
		.limit = &walk.frames[walk.max - 1],
	};
	words_left = words;
	ow_run_brief(run, word_at_first);
	walk.nr = (unsigned int)(run->frame - walk.frames) + 1;
}

/* By pieces, with the stack elsewhere: the same frames, and no other reads. */
static void test_by_pieces(void)
{
	const struct ow_window whole = { STACK, STACK_SIZE, stack_bytes };
	static struct ow_brief briefs[128];
	struct ow_cache cache = { briefs, 63, 0 };
	enum ow_end end = OW_END_NOT_YET;
	struct ow_run by;

	set_up_chain();
	CHECK_TEXT(run_in(&whole, &cache), CHAIN);
	ow_walk_begin(&walk, &fake.target, NULL, &cache, &regs, frames,
		      MAX_FRAMES);
	ow_walk_first(&walk);
	fake.stack.size = 0; /* nothing is there but by the words */
	run_brief(&cache, 100, &by);
	CHECK(walk.nr == 3 && !by.torn);
	while (end == OW_END_NOT_YET)
		end = ow_walk_advance(&walk);
	CHECK_TEXT(said(end), CHAIN);
	/* the second step's words are not all there */
	ow_walk_begin(&walk, &fake.target, NULL, &cache, &regs, frames,
		      MAX_FRAMES);
	ow_walk_first(&walk);
	run_brief(&cache, 3 + OW_BRIEF_FEW, &by);
	CHECK(walk.nr == 2 && !by.torn && by.row);
	run_brief(&cache, 4, &by);
	CHECK(walk.nr == 2 && by.torn);
}

/* An expression's addresses are of the module that the row is from. */
static void test_cache_and_bias(void)
{
	set_up(&ow_arch_x86_64);
	set_pc(TABLED + 0x1010);
	poke(STACK, MODULE + BY_ADDR + 0x10);
	poke(STACK + 0xf8, MODULE + OUTERMOST + 0x10);
	check_cached("401010@0 registers; 501210@8 table r; "
		     "501110@100 eh_frame r; complete");
}

static void test_texts(void)
{
	int i;

	for (i = -1; i <= OW_NR_ENDS; i++)
		CHECK(ow_end_text(i) && *ow_end_text(i));
	for (i = -1; i <= OW_NR_HOWS; i++)
		CHECK(ow_how_text(i) && *ow_how_text(i));
	for (i = -OW_ERR_HOSTED - 1; i <= OW_ERR_HOSTED + 1; i++)
		CHECK(ow_err_text(i) && *ow_err_text(i));
}

int main(void)
{
	static const struct test tests[] = {
		{ "chain", test_chain },
		{ "limit", test_limit },
		{ "fault", test_fault },
		{ "want and resume", test_want_and_resume },
		{ "no module", test_no_module },
		{ "bad rules", test_bad_and_unsupported_rules },
		{ "unknown registers", test_unknown },
		{ "frame pointer", test_frame_pointer },
		{ "frame pointer: no call", test_frame_pointer_without_call },
		{ "frame pointer: sp", test_guessed_sp },
		{ "frame pointer: ends", test_frame_pointer_ends },
		{ "frame pointer: zero", test_frame_pointer_zero },
		{ "call to nowhere", test_call_to_nowhere },
		{ "cycle", test_cycle },
		{ "switched stack", test_switched_stack },
		{ "entered by a return", test_entered_by_return },
		{ "aarch64", test_aarch64_leaf_and_record },
		{ "cache", test_cache },
		{ "by pieces", test_by_pieces },
		{ "cache and bias", test_cache_and_bias },
		{ "texts", test_texts },
	};

	return test_main(tests, OW_ARRAY_SIZE(tests));
}
