// SPDX-License-Identifier: BSD-2-Clause
#include "plt.h"

#include <string.h>

#include "arch.h"
#include "elfsym.h"
#include "object.h"

enum {
	SHT_RELA = 4,
	SHT_REL = 9,
	SHF_ALLOC = 2,
};

/* What is looked at for one stub: sections may share their bytes. */
#define MOST_RELOCATIONS ((size_t)1 << 20)

/* A section of stubs, and the vaddr of one of them. */
struct stubs {
	const struct ow_object *obj;
	struct ow_elf_section sec;
	const uint8_t *bytes;
};

/* A little-endian number of size bytes at vaddr; 0 outside of the section. */
static uint64_t peek(const struct stubs *s, uint64_t vaddr, size_t size)
{
	uint64_t off = vaddr - s->sec.vaddr;
	struct ow_cursor c = { s->bytes, s->bytes + s->sec.size, false };

	ow_cursor_skip(&c, off);
	return ow_cursor_uint(&c, size);
}

/* Where i386 code points %ebx to, to find its GOT. (i386 psABI 4.2) */
static uint64_t got_base(const struct ow_object *obj)
{
	struct ow_elf_section sec;

	if (ow_object_section(obj, ".got.plt", &sec) ||
	    ow_object_section(obj, ".got", &sec))
		return sec.vaddr;
	return 0;
}

/*
 * x86: [endbr] [bnd] jmp *slot.  Stubs have 16 bytes; those in .plt.got that
 * don't begin with endbr have 8.
 */
static bool x86_stub(const struct stubs *s, uint64_t vaddr, uint64_t *start_ret,
		     uint64_t *slot_ret)
{
	bool is_64 = s->obj->elf.is_64;
	uint32_t endbr = is_64 ? 0xfa1e0ff3 : 0xfb1e0ff3;
	bool is_got = ow_elf_section_is(&s->obj->elf, &s->sec, ".plt.got");
	bool small = is_got && peek(s, s->sec.vaddr, 4) != endbr;
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
		*slot_ret = (uint32_t)(got_base(s->obj) + disp);
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

/*
 * Name what a relocation of the slot in sec refers to; *left relocations may be
 * looked at.
 */
static bool name_by(const struct ow_object *obj,
		    const struct ow_elf_section *sec, uint64_t slot,
		    size_t *left, struct ow_plt_stub *stub)
{
	const uint8_t *at = ow_elfsym_section(&obj->elf, sec);
	struct ow_cursor c = { at, at ? at + sec->size : at, !at };
	size_t w = obj->elf.is_64 ? 8 : 4;
	struct ow_elfsyms syms;
	struct ow_elfsym sym;

	for (; *left > 0 && ow_cursor_more(&c); (*left)--) {
		uint64_t off = ow_cursor_uint(&c, w);
		uint64_t info = ow_cursor_uint(&c, w);
		uint64_t addend =
			sec->type == SHT_RELA ? ow_cursor_uint(&c, w) : 0;

		if (c.bad || off != slot)
			continue;
		info >>= obj->elf.is_64 ? 32 : 8;
		stub->resolver = info ? 0 : addend;
		if (info && ow_elfsyms_init(&syms, &obj->elf, OW_SHT_DYNSYM) &&
		    ow_elfsyms_get(&syms, info, &sym))
			stub->name = sym.name;
		return stub->name || stub->resolver;
	}
	return false;
}

static bool name_stub(const struct ow_object *obj, uint64_t slot,
		      struct ow_plt_stub *stub)
{
	size_t left = MOST_RELOCATIONS;
	struct ow_elf_section sec;

	/* Linkers put the stubs' relocations after all others. */
	for (uint32_t i = obj->elf.shnum; i > 0; i--)
		if (ow_elf_section(&obj->elf, i - 1, &sec) &&
		    (sec.type == SHT_RELA || sec.type == SHT_REL) &&
		    (sec.flags & SHF_ALLOC) &&
		    name_by(obj, &sec, slot, &left, stub))
			return true;
	return false;
}

static bool find_section(struct stubs *s, uint64_t vaddr)
{
	static const char *const names[] = { ".plt", ".plt.sec", ".plt.got" };

	for (size_t i = 0; i < OW_ARRAY_SIZE(names); i++) {
		if (!ow_object_section(s->obj, names[i], &s->sec) ||
		    vaddr - s->sec.vaddr >= s->sec.size)
			continue;
		s->bytes = ow_elfsym_section(&s->obj->elf, &s->sec);
		return s->bytes;
	}
	return false;
}

bool ow_plt_find(const struct ow_object *obj, uint64_t vaddr,
		 struct ow_plt_stub *ret)
{
	struct stubs s = { .obj = obj };
	struct ow_plt_stub stub = { 0 };
	uint64_t slot;
	bool found;

	if (!find_section(&s, vaddr))
		return false;
	if (obj->elf.arch == &ow_arch_aarch64)
		found = aarch64_stub(&s, vaddr, &stub.vaddr, &slot);
	else
		found = x86_stub(&s, vaddr, &stub.vaddr, &slot);
	if (!found || !name_stub(obj, slot, &stub))
		return false;
	*ret = stub;
	return true;
}
