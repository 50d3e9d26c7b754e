/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* A target with every kind of module, made by hand, and a walk of its stack. */
#ifndef TESTS_WALKMAKE_H
#define TESTS_WALKMAKE_H

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

/*
 * From 0x1000 on the old sp is at sp, and 16 bytes above is the return address;
 * from 0x1100 on nothing is known, from 0x1110 on it is at sp; at 0x1300 nothing
 * is known, and at 0x1310 stacks begin.
 */
static const uint8_t orc_ips[] = { 0, 0, 0,    0, 0xfc, 0, 0, 0, 8, 1,
				   0, 0, 0xf4, 2, 0,    0, 0, 3, 0, 0 };
static const uint8_t orc_entries[] = { 24, 0, 0, 0, 9, 0, 0, 0, 0, 0,
				       0,  0, 8, 0, 0, 0, 5, 0, 0, 0,
				       0,  0, 0, 0, 0, 0, 0, 0, 0, 4 };
static const struct ow_orc orc = { orc_ips, 0x1000, orc_entries, 5, false };
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

static inline int read_fake(const struct ow_memory *mem, uint64_t addr,
			    void *buf, size_t size)
{
	const struct fake_target *f = (const void *)mem;

	if (fake_read(&f->stack.mem, addr, buf, size) == 0 ||
	    fake_read(&f->code2.mem, addr, buf, size) == 0)
		return 0;
	return fake_read(&f->code.mem, addr, buf, size);
}

static inline void put_cie(const struct ow_arch *arch, const char *aug)
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

static inline void put_fde(const struct ow_arch *arch, size_t i, size_t cie,
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

static inline void make_cfi(const struct ow_arch *arch)
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
static inline void make_table(const struct ow_arch *arch, uint32_t end,
			      uint8_t behind)
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

static inline void set_up(const struct ow_arch *arch)
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

static inline void poke(uint64_t addr, uint64_t value)
{
	memcpy(stack_bytes + (addr - STACK), &value, fake.target.arch->word);
}

static inline void set_pc(uint64_t pc)
{
	ow_regs_set(&regs, fake.target.arch->pc, pc);
}

static inline void set_fp(uint64_t fp)
{
	ow_regs_set(&regs, fake.target.arch->fp, fp);
}

/*
 * The frames, "PC@SP HOW", with sp from the stack's begin, r for a return
 * address and s for a signal frame; then why they end.
 */
static inline const struct text *said(enum ow_end end)
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

static inline const struct text *run_in(const struct ow_window *stack,
					struct ow_cache *cache)
{
	ow_walk_begin(&walk, &fake.target, stack, cache, &regs, frames,
		      MAX_FRAMES);
	return said(ow_walk_run(&walk));
}

static inline const struct text *run_with(struct ow_cache *cache,
					  unsigned int max)
{
	ow_walk_begin(&walk, &fake.target, NULL, cache, &regs, frames, max);
	return said(ow_walk_run(&walk));
}

static inline const struct text *run(void)
{
	return run_with(NULL, MAX_FRAMES);
}

#endif
