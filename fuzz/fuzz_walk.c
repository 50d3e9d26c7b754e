// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * Input: the architecture; pc, fp and ra as offsets; the stack's size; the
 * stack; the rest is the .eh_frame of two modules, of which the second lies
 * elsewhere.  The walk must end, and neither a cache nor a copy of the stack
 * may change it.
 */
#include "fuzz.h"
#include "walk.h"

#define CODE       0x400000
#define CODE2      0x500000
#define STACK      0x7ff00000
#define VADDR      0x10000 /* of .eh_frame, as linked; code is from 0 */
#define EXTENT     0x20000
#define TRAMPOLINE (CODE + EXTENT + 0x100)
#define FRAMES     64
#define REFS       32

struct fuzz_target {
	struct ow_target target; /* first: cast back in read_target() */
	struct fake_memory stack;
};

struct walked {
	struct ow_frame frames[FRAMES];
	unsigned int nr;
	enum ow_end end;
};

static struct ow_fde_ref refs[REFS];
static struct ow_cfi cfi;
static struct ow_module modules[2];
static struct ow_brief entries[16];
static struct ow_walk walk;

static const struct ow_range ranges[] = {
	{ CODE, CODE + EXTENT, &modules[0] },
	{ CODE + EXTENT, CODE + 2 * EXTENT, NULL },
	{ CODE2, CODE2 + EXTENT, &modules[1] },
};

static int compare(const void *a, const void *b)
{
	const struct ow_fde_ref *x = a, *y = b;

	return x->start < y->start ? -1 : x->start > y->start;
}

static void set_cfi(const struct ow_arch *arch, const uint8_t *data,
		    size_t size)
{
	static const struct ow_cfi_env env = { .bias = 0 };
	struct ow_fde fde;
	uint64_t off = 0;
	size_t nr = 0;
	int kind = 1;

	cfi = (struct ow_cfi){ .arch = arch,
			       .eh_frame = { data, size, VADDR } };
	while (kind != 0 && off < size && nr < REFS) {
		kind = ow_cfi_entry(&cfi, &env, false, &off, &fde);
		if (kind == 1)
			refs[nr++] = (struct ow_fde_ref){ fde.start, fde.off };
	}
	qsort(refs, nr, sizeof(refs[0]), compare);
	cfi.eh_index = (struct ow_fde_index){ refs, nr };
}

static void run(struct walked *out, const struct fuzz_target *t,
		const struct ow_window *stack, struct ow_cache *cache,
		const struct ow_regs *regs)
{
	unsigned int wants = 0;

	modules[0].state = modules[1].state = OW_MODULE_UNREAD;
	ow_walk_begin(&walk, &t->target, stack, cache, regs, out->frames,
		      FRAMES);
	while ((out->end = ow_walk_run(&walk)) == OW_END_WANT) {
		ASSERT(walk.wanted->state == OW_MODULE_UNREAD);
		walk.wanted->state = OW_MODULE_READY;
		ASSERT(++wants <= 2);
	}
	out->nr = walk.nr;
}

static void check_walk(const struct walked *w)
{
	unsigned int i;

	ASSERT(w->nr > 0 && w->nr <= FRAMES);
	ASSERT((w->end > OW_END_NOT_YET && w->end < OW_END_WANT) ||
	       w->end == OW_END_COSTLY);
	ASSERT(w->end != OW_END_LIMIT || w->nr == FRAMES);
	ASSERT(w->frames[0].how == OW_HOW_REGS);
	for (i = 1; i < w->nr; i++) {
		ASSERT(w->frames[i].how < OW_NR_HOWS);
		ASSERT(w->frames[i - 1].flags & OW_FRAME_SIGNAL ||
		       w->frames[i].sp >= w->frames[i - 1].sp);
	}
}

static bool same(const struct walked *a, const struct walked *b)
{
	return a->nr == b->nr && a->end == b->end &&
	       memcmp(a->frames, b->frames, a->nr * sizeof(a->frames[0])) == 0;
}

static void print(const struct walked *w)
{
	unsigned int i;

	for (i = 0; i < w->nr; i++)
		fprintf(stderr, "%#llx at %#llx: %s, flags %u\n",
			w->frames[i].pc, w->frames[i].sp,
			ow_how_text(w->frames[i].how), w->frames[i].flags);
	fprintf(stderr, "%s\n\n", ow_end_text(w->end));
}

static void check_same(const struct walked *a, const struct walked *b)
{
	if (!same(a, b)) {
		print(a);
		print(b);
	}
	ASSERT(same(a, b));
}

/* The stack, and a signal's trampoline in code without a module. */
static int read_target(const struct ow_memory *mem, uint64_t addr, void *buf,
		       size_t size)
{
	const struct fuzz_target *t = (const void *)mem;
	const struct ow_sigframe *sf = &t->target.arch->sigframes[0];
	struct fake_memory code = { { 0 }, TRAMPOLINE, sf->code, sf->code_size };

	if (fake_read(&code.mem, addr, buf, size) == 0)
		return 0;
	return fake_read(&t->stack.mem, addr, buf, size);
}

static void check(struct fuzz_target *t, const struct ow_regs *regs)
{
	static struct walked plain, cold, warm;
	struct ow_cache cache = { entries, OW_ARRAY_SIZE(entries) / 2 - 1, 0 };
	const struct ow_window part = {
		STACK,
		t->stack.size - t->stack.size / 4,
		t->stack.bytes,
	};

	memset(entries, 0, sizeof(entries));
	memset(&walk, 0, sizeof(walk));
	run(&plain, t, NULL, NULL, regs);
	check_walk(&plain);
	/* Nor may it matter what the walk was used for before. */
	memset(&walk, 0x11, sizeof(walk));
	run(&cold, t, NULL, &cache, regs);
	check_same(&plain, &cold);
	run(&warm, t, &part, &cache, regs);
	check_same(&plain, &warm);
	run(&warm, t, NULL, &cache, regs);
	check_same(&plain, &warm);
	run(&cold, t, &part, NULL, regs);
	check_same(&plain, &cold);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct ow_arch *arch = fuzz_arch(fuzz_take(&data, &size, 1));
	uint64_t pc = CODE + fuzz_take(&data, &size, 3);
	uint64_t fp = STACK + fuzz_take(&data, &size, 2);
	uint64_t ra = CODE + fuzz_take(&data, &size, 3);
	size_t stack_size = fuzz_take(&data, &size, 2);
	struct fuzz_target t = {
		.target = { .mem = { read_target },
			    .arch = arch,
			    .map = { ranges, OW_ARRAY_SIZE(ranges), 1 } },
	};
	struct ow_regs regs = { .known = 0 };

	if (stack_size > size)
		stack_size = size;
	t.stack = (struct fake_memory){ { NULL }, STACK, data, stack_size };
	set_cfi(arch, data + stack_size, size - stack_size);
	modules[0] = (struct ow_module){ .bias = CODE, .cfi = &cfi };
	modules[1] = (struct ow_module){ .bias = CODE2, .cfi = &cfi };
	ow_regs_set(&regs, arch->ra, ra);
	ow_regs_set(&regs, arch->pc, pc);
	ow_regs_set(&regs, arch->sp, STACK);
	ow_regs_set(&regs, arch->fp, fp);
	check(&t, &regs);
	return 0;
}
