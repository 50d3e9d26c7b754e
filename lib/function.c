// SPDX-License-Identifier: BSD-2-Clause
#include "function.h"

#include "bulk.h"

#define SYMBOLS    4096            /* that are looked through at once, */
#define SYMBOLS_NS (100 * SYMBOLS) /* and take so long, or less, as a rule */

/* A type tells code from a mere label; after that a global name is the API. */
enum {
	RANK_TYPED = 4,
};

/*
 * Bytes of two names that are compared: a file can have a million symbols whose
 * names all are its longest string.
 */
#define COMPARED    1024
#define UNDERSCORES 64 /* that are counted, likewise */

static uint8_t rank_of(const struct ow_elfsym *sym)
{
	uint8_t type = sym->type == OW_STT_NOTYPE ? 0 : RANK_TYPED;

	switch (sym->bind) {
	case OW_STB_LOCAL: return type;
	case OW_STB_WEAK: return type + 1;
	default: return type + 2;
	}
}

/*
 * Labels of hand-written assembly often have no type.  But no function is
 * named like those that mark code and data ("ELF for the Arm 64-bit
 * Architecture" 5.5.2), nor like a compiler's own labels.
 */
static bool is_function(const struct ow_elfsym *sym, uint64_t section_flags)
{
	if (sym->section == 0 || !*sym->name)
		return false;
	if (sym->type == OW_STT_FUNC || sym->type == OW_STT_GNU_IFUNC)
		return true;
	return sym->type == OW_STT_NOTYPE &&
	       (section_flags & OW_SHF_EXECINSTR) && sym->name[0] != '$' &&
	       strncmp(sym->name, ".L", 2) != 0;
}

bool ow_function_from(const struct ow_elf *elf, const struct ow_elfsym *sym,
		      struct ow_function *ret)
{
	struct ow_elf_section sec = { 0 };
	uint64_t end = sym->value + sym->size;

	if (sym->type == OW_STT_NOTYPE || sym->size == 0)
		ow_elf_section(elf, sym->section, &sec);
	if (!is_function(sym, sec.flags))
		return false;
	if (sym->size == 0)
		end = sec.vaddr + sec.size;
	if (end <= sym->value)
		return false;
	*ret = (struct ow_function){
		.start = sym->value,
		.end = end,
		.name = sym->name,
		.rank = rank_of(sym),
		.sized = sym->size != 0,
	};
	return true;
}

bool ow_function_is_label(const struct ow_function *f)
{
	return !f->sized || f->rank < RANK_TYPED;
}

static size_t underscores(const char *name)
{
	size_t n = 0;

	while (n < UNDERSCORES && name[n] == '_')
		n++;
	return n;
}

bool ow_function_better(const struct ow_function *f,
			const struct ow_function *g)
{
	size_t n, m;

	if (f->rank != g->rank)
		return f->rank > g->rank;
	n = underscores(f->name);
	m = underscores(g->name);
	if (n != m)
		return n < m;
	n = strnlen(f->name, COMPARED);
	m = strnlen(g->name, COMPARED);
	if (n != m)
		return n < m;
	return strncmp(f->name, g->name, COMPARED) < 0;
}

bool ow_function_has_time(size_t i, const struct ow_owner *own, uint64_t *since)
{
	return i % SYMBOLS || ow_bulk_has_time_beyond(own, since, SYMBOLS_NS);
}
