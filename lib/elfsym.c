// SPDX-License-Identifier: BSD-2-Clause
#include "elfsym.h"

/*
 * What any user can write takes no longer to look through than this; objects have some
 * dozen dynamic entries, and 10^6 symbols.
 */
enum {
	MOST_DYNAMIC = 4096,
	MOST_HASHED = 1 << 22,    /* buckets, and links of a chain */
	MOST_LOOKED_AT = 1 << 22, /* symbols, for one of a name */
	MOST_TAIL = 1 << 16, /* bytes of strings after the last whole one */
};

enum {
	DT_HASH = 4,
	DT_STRTAB = 5,
	DT_SYMTAB = 6,
	DT_STRSZ = 10,
	DT_GNU_HASH = 0x6ffffef5,
};

const uint8_t *ow_elfsym_section(const struct ow_elf *elf,
				 const struct ow_elf_section *sec)
{
	if (sec->type == OW_SHT_NOBITS || sec->off > elf->size ||
	    sec->size > elf->size - sec->off)
		return NULL;
	return elf->bytes + sec->off;
}

static bool set_tables(struct ow_elfsyms *t, const struct ow_elf *elf,
		       const uint8_t *syms, uint64_t syms_size,
		       const uint8_t *names, uint64_t names_size)
{
	size_t each = elf->is_64 ? OW_SYM64_SIZE : OW_SYM32_SIZE;
	uint64_t tail = names_size;

	if (!syms || !names)
		return false;
	/* With this, every offset below the size is a terminated string. */
	while (names_size > 0 && names[names_size - 1])
		if (tail - names_size-- == MOST_TAIL)
			return false;
	*t = (struct ow_elfsyms){
		.syms = syms,
		.nr = syms_size / each,
		.names = (const char *)names,
		.names_size = names_size,
		.is_64 = elf->is_64,
	};
	return t->nr > 0;
}

/*
 * An object has one section of the type (gABI 4.1, "Sections").  Only the first
 * is looked at: many of them may share strings that take long to look through.
 */
static bool by_section(struct ow_elfsyms *t, const struct ow_elf *elf,
		       uint32_t type)
{
	struct ow_elf_section sec, strings;

	for (uint32_t i = 1; ow_elf_section(elf, i, &sec); i++)
		if (sec.type == type && !(sec.flags & OW_SHF_COMPRESSED))
			return ow_elf_section(elf, sec.link, &strings) &&
			       set_tables(t, elf, ow_elfsym_section(elf, &sec),
					  sec.size,
					  ow_elfsym_section(elf, &strings),
					  strings.size);
	return false;
}

struct dynamic {
	uint64_t hash, strtab, symtab, strsz, gnu_hash;
};

static bool read_dynamic(const struct ow_elf *elf, struct dynamic *ret)
{
	size_t w = elf->is_64 ? 8 : 4;
	struct ow_elf_segment seg;
	uint64_t size = 0;
	uint32_t i;

	*ret = (struct dynamic){ 0 };
	for (i = 0; ow_elf_segment(elf, i, &seg); i++)
		if (seg.type == OW_PT_DYNAMIC)
			break;
	/* Headers may end before their number says so. */
	if (!ow_elf_segment(elf, i, &seg))
		return false;
	const uint8_t *at = ow_elf_at(elf, seg.vaddr, &size);
	struct ow_cursor c = { at, at ? at + size : at, !at };

	for (i = 0; i < MOST_DYNAMIC && ow_cursor_more(&c); i++) {
		uint64_t tag = ow_cursor_uint(&c, w);
		uint64_t value = ow_cursor_uint(&c, w);

		switch (tag) {
		case 0: return ret->strtab && ret->symtab;
		case DT_HASH: ret->hash = value; break;
		case DT_STRTAB: ret->strtab = value; break;
		case DT_SYMTAB: ret->symtab = value; break;
		case DT_STRSZ: ret->strsz = value; break;
		case DT_GNU_HASH: ret->gnu_hash = value; break;
		}
	}
	return ret->strtab && ret->symtab;
}

/*
 * DT_GNU_HASH has no count: the last symbol is the end of the chain that
 * begins last.  Layout: nbuckets, symoffset, bloom size, bloom shift, bloom,
 * buckets, chains, where bit 0 of a chain's word ends the chain.
 */
static uint64_t count_by_gnu_hash(const struct ow_elf *elf, uint64_t vaddr)
{
	uint64_t size = 0, last = 0;
	const uint8_t *at = ow_elf_at(elf, vaddr, &size);
	struct ow_cursor c = { at, at ? at + size : at, !at };
	uint32_t nr_buckets = ow_cursor_uint(&c, 4), links = 0;
	uint32_t first = ow_cursor_uint(&c, 4);
	uint64_t bloom = ow_cursor_uint(&c, 4) * (elf->is_64 ? 8 : 4);

	if (nr_buckets > MOST_HASHED)
		return 0;
	ow_cursor_skip(&c, 4);
	ow_cursor_skip(&c, bloom);
	while (nr_buckets-- > 0 && !c.bad) {
		uint64_t head = ow_cursor_uint(&c, 4);

		if (head > last)
			last = head;
	}
	if (last < first)
		return first;
	ow_cursor_skip(&c, (last - first) * 4);
	while (links++ < MOST_HASHED && ow_cursor_more(&c) &&
	       !(ow_cursor_uint(&c, 4) & 1))
		last++;
	return c.bad ? 0 : last + 1;
}

static uint64_t count_by_hash(const struct ow_elf *elf, uint64_t vaddr)
{
	uint64_t size = 0;
	const uint8_t *at = ow_elf_at(elf, vaddr, &size);
	struct ow_cursor c = { at, at ? at + size : at, !at };

	ow_cursor_skip(&c, 4);
	return ow_cursor_uint(&c, 4);
}

static bool by_dynamic(struct ow_elfsyms *t, const struct ow_elf *elf)
{
	uint64_t each = elf->is_64 ? OW_SYM64_SIZE : OW_SYM32_SIZE;
	uint64_t syms_size = 0, names_size = 0, nr;
	const uint8_t *syms, *names;
	struct dynamic d;

	if (!read_dynamic(elf, &d))
		return false;
	nr = d.hash ? count_by_hash(elf, d.hash) :
		      count_by_gnu_hash(elf, d.gnu_hash);
	syms = ow_elf_at(elf, d.symtab, &syms_size);
	names = ow_elf_at(elf, d.strtab, &names_size);
	if (nr < syms_size / each)
		syms_size = nr * each;
	if (d.strsz < names_size)
		names_size = d.strsz;
	return set_tables(t, elf, syms, syms_size, names, names_size);
}

bool ow_elfsyms_init(struct ow_elfsyms *t, const struct ow_elf *elf,
		     uint32_t type)
{
	if (by_section(t, elf, type))
		return true;
	return type == OW_SHT_DYNSYM && elf->shnum == 0 && by_dynamic(t, elf);
}

bool ow_elfsym_value(const struct ow_elf *elf, const char *name, uint64_t *ret)
{
	struct ow_elfsyms syms;
	struct ow_elfsym sym;
	size_t i;

	if (!ow_elfsyms_init(&syms, elf, OW_SHT_SYMTAB))
		return false;
	for (i = 0; i < syms.nr && i < MOST_LOOKED_AT; i++)
		if (ow_elfsyms_get(&syms, i, &sym) &&
		    strcmp(sym.name, name) == 0) {
			*ret = sym.value;
			return true;
		}
	return false;
}
