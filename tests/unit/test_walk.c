// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#include "bytes.h"
#include "sayrow.h"
#include "test.h"
#include "walk.h"

enum {
	STACK = 0x70000,
	STACK_SIZE = 0x800,
	TABLED = 0x400000, /* bias of a module with a table */
	MODULE = 0x500000, /* of one with .eh_frame */
	LATER = 0x800000,  /* of the same, elsewhere; not read at first */
	JIT = 0x600000,    /* code without a module */
	JIT_SIZE = 0x200,
	KERNEL = 0x900000,   /* one with ORC: after a switch of stacks */
	END_CODE = 0x402000, /* right behind the table's last function */

	/* functions of the module with .eh_frame, by vaddr */
	WITH_FP = 0x1000,
	OUTERMOST = 0x1100,
	BY_ADDR = 0x1200,
	INTERRUPTED = 0x1300,
	MALFORMED = 0x1400,
	UNKNOWN_OP = 0x1500,
	LEAF = 0x1600,
	FDE_SIZE = 0x100,

	MAX_FRAMES = 16,
};

struct fake_target {
	struct ow_target target; /* first: cast back in read_fake() */
	struct fake_memory stack, code, code2;
};

static uint8_t stack_bytes[STACK_SIZE];
static uint8_t code_bytes[JIT_SIZE];
static uint8_t code2_bytes[0x20];
static struct fake_target fake;
static struct ow_regs regs;
static struct ow_frame frames[MAX_FRAMES];
static struct ow_walk walk;

static struct bytes eh, table_bytes;
static struct ow_fde_ref refs[8];
static struct ow_cfi cfi;
static struct ow_table table;
static struct ow_module tabled, module, later;

/* From 0x1000 on the old sp is at sp; 16 bytes above is the return address. */
static const uint8_t orc_ips[] = { 0, 0, 0, 0 };
static const uint8_t orc_entries[] = { 24, 0, 0, 0, 9, 0 };
static const struct ow_orc orc = { orc_ips, 0x1000, orc_entries, 1, false };
static struct ow_module kernel = { .bias = KERNEL,
				   .state = OW_MODULE_READY,
				   .orc = &orc };

static const struct ow_range ranges[] = {
	{ TABLED, TABLED + 0x10000, &tabled },
	{ MODULE, MODULE + 0x10000, &module },
	{ JIT, JIT + JIT_SIZE, NULL },
	{ LATER, LATER + 0x10000, &later },
	{ KERNEL, KERNEL + 0x10000, &kernel },
};

static int read_fake(const struct ow_memory *mem, uint64_t addr, void *buf,
		     size_t size)
{
	const struct fake_target *f = (const void *)mem;

	if (fake_read(&f->stack.mem, addr, buf, size) == 0 ||
	    fake_read(&f->code2.mem, addr, buf, size) == 0)
		return 0;
	return fake_read(&f->code.mem, addr, buf, size);
}

static void put_cie(const struct ow_arch *arch, const char *aug)
{
	bool pushed = arch->ra == arch->pc;
	size_t begin = eh.size;

	put(&eh, 4, 0);
	put(&eh, 4, 0);
	put(&eh, 1, 1);
	put_block(&eh, aug, strlen(aug) + 1);
	put(&eh, 1, 1);
	put(&eh, 1, 0x80 - arch->word); /* -word */
	put(&eh, 1, arch->ra);
	put(&eh, 1, 0);    /* augmentation data: none */
	put(&eh, 1, 0x0c); /* def_cfa sp+word, or sp+0 */
	put(&eh, 1, arch->sp);
	put(&eh, 1, pushed ? arch->word : 0);
	if (pushed) {
		put(&eh, 1, 0x80 | arch->ra); /* at cfa-word */
		put(&eh, 1, 1);
	}
	patch(&eh, begin, 4, eh.size - begin - 4);
}

static void put_fde(const struct ow_arch *arch, size_t i, size_t cie,
		    uint64_t start, const uint8_t *insns, size_t size)
{
	size_t begin = eh.size;

	refs[i] = (struct ow_fde_ref){ start, begin };
	put(&eh, 4, 0);
	put(&eh, 4, eh.size - cie);
	put(&eh, arch->word, start);
	put(&eh, arch->word, FDE_SIZE);
	put(&eh, 1, 0);
	put_block(&eh, insns, size);
	patch(&eh, begin, 4, eh.size - begin - 4);
}

static void make_cfi(const struct ow_arch *arch)
{
	const uint8_t w2 = 2 * arch->word, fp = arch->fp, ra = arch->ra;
	const uint8_t with_fp[] = { 0x0c, fp, w2, 0x80 | ra, 1, 0x80 | fp, 2 };
	const uint8_t outermost[] = { 0x07, ra };
	/* the CFA: addr STACK + 0x100 - MODULE, a vaddr */
	uint8_t by_addr[11] = { 0x0f, 1 + arch->word, 0x03 };
	const uint64_t vaddr = STACK + 0x100 - (uint64_t)MODULE;
	/* a signal frame: CFA, and where the RA is */
	const uint8_t signal[] = { 0x0c, arch->sp, 0x20, 0x80 | ra, 2 };
	const uint8_t malformed[] = { 0x0b }, unknown[] = { 0x3f };
	size_t signal_cie;

	eh.size = 0;
	memcpy(by_addr + 3, &vaddr, arch->word);
	put_cie(arch, "z");
	put_fde(arch, 0, 0, WITH_FP, with_fp, sizeof(with_fp));
	put_fde(arch, 1, 0, OUTERMOST, outermost, sizeof(outermost));
	put_fde(arch, 2, 0, BY_ADDR, by_addr, 3 + arch->word);
	signal_cie = eh.size;
	put_cie(arch, "zS");
	put_fde(arch, 3, signal_cie, INTERRUPTED, signal, sizeof(signal));
	put_fde(arch, 4, 0, MALFORMED, malformed, 1);
	put_fde(arch, 5, 0, UNKNOWN_OP, unknown, 1);
	put_fde(arch, 6, 0, LEAF, unknown, 0);
	cfi = (struct ow_cfi){ .arch = arch,
			       .eh_frame = { eh.at, eh.size, 0x9000 },
			       .eh_index = { refs, 7 } };
}

/*
 * One row from 0x1000 up to end, nothing but the return
 * address; then what that code says.
 */
static void make_table(const struct ow_arch *arch, uint32_t end, uint8_t behind)
{
	const struct ow_table_head head = {
		.magic = OW_TABLE_MAGIC,
		.version = OW_TABLE_VERSION,
		.machine = arch->machine,
		.base = 0x1000,
		.rows_size = 5,
		.nr_codes = 1,
		.nr_sets = 1,
		.word = arch->word,
		.ra = arch->ra,
	};
	uint32_t more = end - 0x1000 - OW_TABLE_LONG;
	uint8_t rows[] = {
		2,
		(uint8_t)(OW_TABLE_LONG + (more >> 8)),
		OW_TABLE_FIRST,
		behind,
		(uint8_t)more,
	};

	table_bytes.size = 0;
	put_block(&table_bytes, &head, sizeof(head));
	put(&table_bytes, 4, 0);
	put(&table_bytes, 2, 0);
	put(&table_bytes, 1, OW_TABLE_SET_RA);
	put(&table_bytes, 1, arch->sp);
	put_block(&table_bytes, rows, sizeof(rows));
	put(&table_bytes, 3, OW_TABLE_RULE(0, 1));
	CHECK(ow_table_open(&table, table_bytes.at, table_bytes.size) == 0);
	CHECK(ow_table_verify(&table) == 0);
}

static void set_up(const struct ow_arch *arch)
{
	make_cfi(arch);
	make_table(arch, 0x2000, OW_TABLE_NONE);
	tabled = (struct ow_module){ .bias = TABLED,
				     .state = OW_MODULE_READY,
				     .table = &table };
	module = (struct ow_module){ .bias = MODULE,
				     .state = OW_MODULE_READY,
				     .cfi = &cfi };
	later = (struct ow_module){ .bias = LATER,
				    .state = OW_MODULE_UNREAD,
				    .cfi = &cfi };
	memset(stack_bytes, 0, sizeof(stack_bytes));
	memset(code_bytes, 0xcc, sizeof(code_bytes));
	memset(code2_bytes, 0xcc, sizeof(code2_bytes));
	fake = (struct fake_target){
		.target = { .mem = { read_fake },
			    .arch = arch,
			    .map = { ranges, OW_ARRAY_SIZE(ranges), 1 } },
		.stack = { { fake_read }, STACK, stack_bytes, STACK_SIZE },
		.code = { { fake_read }, JIT, code_bytes, JIT_SIZE },
		.code2 = { { fake_read }, END_CODE, code2_bytes, 0x20 },
	};
	regs = (struct ow_regs){ .known = 0 };
	ow_regs_set(&regs, arch->sp, STACK);
	memset(&walk, 0x11, sizeof(walk));
}

static void poke(uint64_t addr, uint64_t value)
{
	memcpy(stack_bytes + (addr - STACK), &value, fake.target.arch->word);
}

static void set_pc(uint64_t pc)
{
	ow_regs_set(&regs, fake.target.arch->pc, pc);
}

static void set_fp(uint64_t fp)
{
	ow_regs_set(&regs, fake.target.arch->fp, fp);
}

/*
 * The frames, "PC@SP HOW", with sp from the stack's begin, r for a return
 * address and s for a signal frame; then why they end.
 */
static const struct text *said(enum ow_end end)
{
	static struct text t;
	unsigned int i;

	t.size = 0;
	for (i = 0; i < walk.nr; i++)
		say(&t, "%llx@%llx %s%s%s; ", frames[i].pc,
		    frames[i].sp - STACK, ow_how_text(frames[i].how),
		    frames[i].flags & OW_FRAME_RETURN ? " r" : "",
		    frames[i].flags & OW_FRAME_SIGNAL ? " s" : "");
	say(&t, "%s", ow_end_text(end));
	return &t;
}

static const struct text *run_in(const struct ow_window *stack,
				 struct ow_cache *cache)
{
	ow_walk_begin(&walk, &fake.target, stack, cache, &regs, frames,
		      MAX_FRAMES);
	return said(ow_walk_run(&walk));
}

static const struct text *run_with(struct ow_cache *cache, unsigned int max)
{
	ow_walk_begin(&walk, &fake.target, NULL, cache, &regs, frames, max);
	return said(ow_walk_run(&walk));
}

static const struct text *run(void)
{
	return run_with(NULL, MAX_FRAMES);
}

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

static void test_frame_pointer(void)
{
	/* code of a JIT, then one with CFI, then the end */
	set_up(&ow_arch_x86_64);
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
	set_up(&ow_arch_i386);
	put_trampoline(code_bytes, 1);
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

/* An expression's addresses are of the module that the row is from. */
static unsigned int nr_slides;

/* To no more than what is asked for. */
static bool slide(struct ow_walk *w, uint64_t addr, size_t size)
{
	nr_slides++;
	if (addr < STACK || addr - STACK > STACK_SIZE - size)
		return false;
	w->step.stack =
		(struct ow_window){ addr, size, stack_bytes + (addr - STACK) };
	return true;
}

/* A window that slides leads to the same frames, and without other reads. */
static void test_sliding_window(void)
{
	const struct ow_window whole = { STACK, STACK_SIZE, stack_bytes };
	static struct ow_brief briefs[128];
	struct ow_cache cache = { briefs, 63, 0 };

	set_up_chain();
	CHECK_TEXT(run_in(&whole, &cache), CHAIN);
	nr_slides = 0;
	fake.stack.size = 0; /* nothing is there but by the window */
	ow_walk_begin(&walk, &fake.target, NULL, &cache, &regs, frames,
		      MAX_FRAMES);
	walk.slide = slide;
	CHECK_TEXT(said(ow_walk_run(&walk)), CHAIN);
	CHECK(nr_slides == 2);
	/* One that can't ends the walk where the words are missing. */
	run_in(NULL, &cache);
	CHECK(walk.end == OW_END_FAULT && walk.nr == 1);
}

static void test_cache_and_bias(void)
{
	set_up(&ow_arch_x86_64);
	set_pc(TABLED + 0x1010);
	poke(STACK, MODULE + BY_ADDR + 0x10);
	poke(STACK + 0xf8, MODULE + OUTERMOST + 0x10);
	check_cached("401010@0 registers; 501210@8 table r; "
		     "501110@100 eh_frame r; complete");
}

/* The same byte as a pc, then before a trampoline as a return address. */
static void test_cache_and_trampoline(void)
{
	struct ow_cache cache = { entries, OW_ARRAY_SIZE(entries) / 2 - 1, 0 };

	memset(entries, 0, sizeof(entries));
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
		{ "trampoline that a table leaves", test_trampoline_escape },
		{ "trampoline without CFI", test_trampoline_rare },
		{ "frame pointer: ends", test_frame_pointer_ends },
		{ "frame pointer: zero", test_frame_pointer_zero },
		{ "trampoline of x86-64", test_trampoline_x86_64 },
		{ "trampoline that has called", test_returning },
		{ "trampoline of i386", test_trampoline_i386 },
		{ "trampoline of aarch64", test_trampoline_aarch64 },
		{ "signal by CFI", test_signal_by_cfi },
		{ "call to nowhere", test_call_to_nowhere },
		{ "cycle", test_cycle },
		{ "cycle of signals", test_cycle_of_signals },
		{ "switched stack", test_switched_stack },
		{ "aarch64", test_aarch64_leaf_and_record },
		{ "cache", test_cache },
		{ "sliding window", test_sliding_window },
		{ "cache and bias", test_cache_and_bias },
		{ "cache and trampoline", test_cache_and_trampoline },
		{ "texts", test_texts },
	};

	return test_main(tests, OW_ARRAY_SIZE(tests));
}
