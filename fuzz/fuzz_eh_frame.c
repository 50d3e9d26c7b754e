// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * Input: a byte for the architecture, whose bit 4 says .debug_frame; then the
 * section.  All its entries are read, and every FDE is looked up.
 */
#include "cfi.h"
#include "fuzz.h"

#define VADDR    0x10000
#define MAX_REFS 256

static struct ow_fde_ref refs[MAX_REFS];

static int compare(const void *a, const void *b)
{
	const struct ow_fde_ref *x = a, *y = b;

	return x->start < y->start ? -1 : x->start > y->start;
}

static bool inside(const struct ow_section *sec, const uint8_t *pos,
		   const uint8_t *end)
{
	return sec->bytes <= pos && pos <= end && end <= sec->bytes + sec->size;
}

static void check_fde(const struct ow_section *sec, const struct ow_fde *fde)
{
	ASSERT(fde->start <= fde->end);
	ASSERT(fde->off < sec->size);
	ASSERT(!fde->insns.bad);
	ASSERT(inside(sec, fde->insns.pos, fde->insns.end));
	ASSERT(inside(sec, fde->cie.insns, fde->cie.insns_end));
	ASSERT(fde->cie.ra < fde->cie.arch->nr_regs);
	ASSERT(fde->cie.section == sec->bytes);
}

static size_t read_all(const struct ow_cfi *cfi, const struct ow_cfi_env *env,
		       bool is_debug)
{
	const struct ow_section *sec = is_debug ? &cfi->debug_frame :
						  &cfi->eh_frame;
	struct ow_fde fde;
	uint64_t off = 0, old;
	size_t nr = 0;
	int kind = 1;

	while (kind != 0 && off < sec->size) {
		old = off;
		kind = ow_cfi_entry(cfi, env, is_debug, &off, &fde);
		ASSERT(kind >= -OW_EUNSUPPORTED && kind <= 2);
		ASSERT(off > old && off <= sec->size);
		if (kind != 1)
			continue;
		check_fde(sec, &fde);
		ASSERT(fde.off == old);
		if (nr < MAX_REFS)
			refs[nr++] = (struct ow_fde_ref){ fde.start, old };
	}
	qsort(refs, nr, sizeof(refs[0]), compare);
	return nr;
}

static void check_find(const struct ow_cfi *cfi, const struct ow_cfi_env *env,
		       uint64_t vaddr, bool is_debug)
{
	struct ow_fde fde;
	uint8_t how;
	int err = ow_cfi_find(cfi, env, vaddr, &fde, &how);

	/* What the index lists was read before, so only a miss is left. */
	ASSERT(err == 0 || err == -OW_ENOENT);
	if (err)
		return;
	ASSERT(how == (is_debug ? OW_HOW_DEBUG : OW_HOW_CFI));
	ASSERT(vaddr >= fde.start && vaddr < fde.end);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t first = fuzz_take(&data, &size, 1);
	bool is_debug = first & 0x10;
	struct fake_memory m = { { fake_read }, VADDR, data, size };
	struct ow_cfi_env env = { .mem = first & 0x20 ? &m.mem : NULL };
	struct ow_cfi cfi = { .arch = fuzz_arch(first), .text = 0x1000 };
	struct ow_section sec = { data, size, VADDR };
	struct ow_fde_index index = { .refs = refs };
	size_t i;

	*(is_debug ? &cfi.debug_frame : &cfi.eh_frame) = sec;
	index.nr = read_all(&cfi, &env, is_debug);
	*(is_debug ? &cfi.debug_index : &cfi.eh_index) = index;
	for (i = 0; i < index.nr; i++) {
		check_find(&cfi, &env, refs[i].start, is_debug);
		check_find(&cfi, &env, refs[i].start - 1, is_debug);
	}
	check_find(&cfi, &env, 0, is_debug);
	check_find(&cfi, &env, ~(uint64_t)0, is_debug);
	return 0;
}
