// SPDX-License-Identifier: BSD-2-Clause
#include "plt.h"

#include <stdlib.h>
#include <string.h>

#include <outwind/outwind.h>

#include "arch.h"
#include "bulk.h"
#include "elfsym.h"
#include "object.h"

enum {
	SHT_RELA = 4,
	SHT_REL = 9,
	SHF_ALLOC = 2,
};

#define MOST_STUBS       3 /* sections of them; */
#define MOST_RELOCATIONS 8 /* and of relocations: linkers write two */

struct section {
	struct ow_elf_section sec;
	const uint8_t *bytes;
};

/* A section of stubs. */
struct stubs {
	const struct ow_plt *plt;
	struct ow_elf_section sec;
	const uint8_t *bytes;
	bool is_got; /* .plt.got */
};

struct ow_plt {
	const struct ow_object *obj;
	struct stubs stubs[MOST_STUBS];
	size_t nr_stubs;
	/* The last ones: linkers put the stubs' relocations after all others. */
	struct section relocations[MOST_RELOCATIONS];
	size_t nr_relocations;
	struct ow_elfsyms syms; /* .dynsym */
	bool has_syms;
	uint64_t got; /* where i386 code points %ebx to (i386 psABI 4.2) */
};

/* A little-endian number of size bytes at vaddr; 0 outside of the section. */
static uint64_t peek(const struct stubs *s, uint64_t vaddr, size_t size)
{
	uint64_t off = vaddr - s->sec.vaddr;
	struct ow_cursor c = { s->bytes, s->bytes + s->sec.size, false };

	ow_cursor_skip(&c, off);
	return ow_cursor_uint(&c, size);
}

/*
 * x86: [endbr] [bnd] jmp *slot.  Stubs have 16 bytes; those in .plt.got that
 * don't begin with endbr have 8.
 */
static bool x86_stub(const struct stubs *s, uint64_t vaddr, uint64_t *start_ret,
		     uint64_t *slot_ret)
{
	bool is_64 = s->plt->obj->elf.is_64;
	uint32_t endbr = is_64 ? 0xfa1e0ff3 : 0xfb1e0ff3;
	bool small = s->is_got && peek(s, s->sec.vaddr, 4) != endbr;
	uint64_t at = vaddr - (vaddr - s->sec.vaddr) % (small ? 8 : 16);
	uint64_t insn;
	int64_t disp;

	*start_ret = at;
	if (peek(s, at, 4) == endbr)
		at += 4;
	if (peek(s, at, 1) == 0xf2)
		at++;
	insn = peek(s, at, 2);
	disp = (int32_t)peek(s, at + 2, 4);
	if (insn == 0x25ff) /* jmp *disp32(%rip), or on i386 *abs32 */
		*slot_ret = is_64 ? at + 6 + disp : (uint32_t)disp;
	else if (insn == 0xa3ff && !is_64) /* jmp *disp32(%ebx) */
		*slot_ret = (uint32_t)(s->plt->got + disp);
	else
		return false;
	return true;
}

/*
 * aarch64: [bti c]; adrp x16, PAGE; ldr x17, [x16, OFF]; add x16, x16, OFF;
 * [autia1716]; br x17.
 */
static bool aarch64_stub(const struct stubs *s, uint64_t vaddr,
			 uint64_t *start_ret, uint64_t *slot_ret)
{
	uint64_t at = vaddr & ~(uint64_t)3;
	unsigned int back = 0;
	uint32_t adrp, ldr;
	int64_t page;

	if (peek(s, at, 4) == 0xd503245f) /* bti c */
		at += 4;
	while ((peek(s, at, 4) & 0x9f00001f) != 0x90000010) {
		/* a br before adrp ends another stub */
		if (back++ == 4 || (back > 1 && peek(s, at, 4) == 0xd61f0220))
			return false;
		at -= 4;
	}
	adrp = peek(s, at, 4);
	ldr = peek(s, at + 4, 4);
	if ((ldr & 0xffc003ff) != 0xf9400211)
		return false;
	page = (int64_t)((adrp >> 5 & 0x7ffff) << 2 | (adrp >> 29 & 3));
	page = (page ^ 0x100000) - 0x100000;
	*slot_ret = (at & ~(uint64_t)0xfff) + (uint64_t)page * 4096 +
		    (ldr >> 10 & 0xfff) * 8;
	*start_ret = peek(s, at - 4, 4) == 0xd503245f ? at - 4 : at;
	return true;
}

/* Name what a relocation of the slot refers to. */
static bool name_by(const struct ow_plt *plt, const struct section *from,
		    uint64_t slot, struct ow_plt_stub *stub)
{
	struct ow_cursor c = { from->bytes, from->bytes + from->sec.size,
			       false };
	bool is_64 = plt->obj->elf.is_64;
	size_t w = is_64 ? 8 : 4;
	struct ow_elfsym sym;

	while (ow_cursor_more(&c)) {
		uint64_t off = ow_cursor_uint(&c, w);
		uint64_t info = ow_cursor_uint(&c, w);
		uint64_t addend =
			from->sec.type == SHT_RELA ? ow_cursor_uint(&c, w) : 0;

		if (c.bad || off != slot)
			continue;
		info >>= is_64 ? 32 : 8;
		stub->resolver = info ? 0 : addend;
		if (info && plt->has_syms &&
		    ow_elfsyms_get(&plt->syms, info, &sym))
			stub->name = sym.name;
		return stub->name || stub->resolver;
	}
	return false;
}

static bool name_stub(const struct ow_plt *plt, uint64_t slot,
		      struct ow_plt_stub *stub)
{
	const struct section *from;
	size_t i;

	for (i = 0; i < plt->nr_relocations; i++) {
		from = &plt->relocations[i];
		if (!ow_bulk_take(OW_BULK_RELOCATIONS, &plt->obj->owner,
				  from->sec.size)) {
			ow_object_refuse(plt->obj, -OW_CODE_TIMEOUT,
					 "relocations that name stubs");
			return false;
		}
		if (name_by(plt, from, slot, stub))
			return true;
	}
	return false;
}

static void find_relocations(struct ow_plt *plt)
{
	const struct ow_elf *elf = &plt->obj->elf;
	struct section *s;
	uint32_t i;

	for (i = elf->shnum; i > 0 && plt->nr_relocations < MOST_RELOCATIONS;
	     i--) {
		s = &plt->relocations[plt->nr_relocations];
		if (!ow_elf_section(elf, i - 1, &s->sec) ||
		    (s->sec.type != SHT_RELA && s->sec.type != SHT_REL) ||
		    !(s->sec.flags & SHF_ALLOC))
			continue;
		s->bytes = ow_elfsym_section(elf, &s->sec);
		plt->nr_relocations += s->bytes != NULL;
	}
}

static void find_stubs(struct ow_plt *plt)
{
	static const char *const names[MOST_STUBS] = { ".plt", ".plt.sec",
						       ".plt.got" };
	struct stubs *s;
	size_t i;

	for (i = 0; i < MOST_STUBS; i++) {
		s = &plt->stubs[plt->nr_stubs];
		if (!ow_object_section(plt->obj, names[i], &s->sec))
			continue;
		s->plt = plt;
		s->is_got = i == MOST_STUBS - 1;
		s->bytes = ow_elfsym_section(&plt->obj->elf, &s->sec);
		plt->nr_stubs += s->bytes != NULL;
	}
}

struct ow_plt *ow_plt_create(const struct ow_object *obj)
{
	struct ow_plt *plt = calloc(1, sizeof(*plt));
	struct ow_elf_section got;

	if (!plt)
		return NULL;
	plt->obj = obj;
	find_stubs(plt);
	if (!plt->nr_stubs)
		return plt;
	find_relocations(plt);
	plt->has_syms = ow_elfsyms_init(&plt->syms, &obj->elf, OW_SHT_DYNSYM);
	if (ow_object_section(obj, ".got.plt", &got) ||
	    ow_object_section(obj, ".got", &got))
		plt->got = got.vaddr;
	return plt;
}

bool ow_plt_find(const struct ow_plt *plt, uint64_t vaddr,
		 struct ow_plt_stub *ret)
{
	const struct stubs *s = plt->stubs, *end = s + plt->nr_stubs;
	struct ow_plt_stub stub = { 0 };
	uint64_t slot;
	bool found;

	while (s < end && vaddr - s->sec.vaddr >= s->sec.size)
		s++;
	if (s == end)
		return false;
	if (plt->obj->elf.arch == &ow_arch_aarch64)
		found = aarch64_stub(s, vaddr, &stub.vaddr, &slot);
	else
		found = x86_stub(s, vaddr, &stub.vaddr, &slot);
	if (!found || !name_stub(plt, slot, &stub))
		return false;
	*ret = stub;
	return true;
}

void ow_plt_destroy(struct ow_plt *plt)
{
	free(plt);
}
