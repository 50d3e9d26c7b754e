// SPDX-License-Identifier: BSD-2-Clause
#include "unitcost.h"

#include <dwarf.h>

#include "cursor.h"
#include "elfsym.h"

static void find(const struct ow_elf *elf, const char *name,
		 const uint8_t **bytes_ret, uint64_t *size_ret)
{
	struct ow_elf_section sec;

	for (uint32_t i = 1; ow_elf_section(elf, i, &sec); i++) {
		if (!ow_elf_section_is(elf, &sec, name))
			continue;
		*bytes_ret = ow_elfsym_section(elf, &sec);
		*size_ret = *bytes_ret ? sec.size : 0;
		return;
	}
}

void ow_unitcost_init(struct ow_unitcost *c, const uint8_t *bytes, size_t size)
{
	struct ow_elf elf;

	*c = (struct ow_unitcost){ .info = NULL };
	if (ow_elf_parse(&elf, bytes, size))
		return;
	find(&elf, ".debug_info", &c->info, &c->info_size);
	find(&elf, ".debug_abbrev", &c->abbrevs, &c->abbrevs_size);
	find(&elf, ".debug_line", &c->lines, &c->lines_size);
}

static struct ow_cursor from(const uint8_t *bytes, uint64_t size, uint64_t off)
{
	if (off >= size)
		return (struct ow_cursor){ NULL, NULL, true };
	return (struct ow_cursor){ bytes + off, bytes + size, false };
}

/* Move on past an abbreviation's tag, children and attributes (DWARF 5, 7.5.3). */
static void skip_abbrev(struct ow_cursor *c)
{
	uint64_t name, form;

	ow_cursor_uleb(c);
	ow_cursor_u8(c);
	do {
		name = ow_cursor_uleb(c);
		form = ow_cursor_uleb(c);
		if (form == DW_FORM_implicit_const)
			ow_cursor_uleb(c);
	} while (!c->bad && (name || form));
}

/* Up to the one of that code, or with code 0 to the end. */
static uint64_t bytes_to(const struct ow_unitcost *u, uint64_t off,
			 uint64_t code)
{
	struct ow_cursor c = from(u->abbrevs, u->abbrevs_size, off);
	uint64_t at = 1;

	while (at && !c.bad) {
		at = ow_cursor_uleb(&c);
		if (at)
			skip_abbrev(&c);
		if (at == code)
			break;
	}
	return c.pos ? (uint64_t)(c.pos - u->abbrevs) - off : 0;
}

uint64_t ow_unitcost_abbrevs(const struct ow_unitcost *u, uint64_t off,
			     uint64_t die)
{
	struct ow_cursor c = from(u->info, u->info_size, die);

	return bytes_to(u, off, ow_cursor_uleb(&c));
}

uint64_t ow_unitcost_all_abbrevs(const struct ow_unitcost *u, uint64_t off)
{
	return bytes_to(u, off, 0);
}

uint64_t ow_unitcost_lines(const struct ow_unitcost *u, uint64_t off)
{
	struct ow_cursor c = from(u->lines, u->lines_size, off);
	uint64_t size = ow_cursor_uint(&c, 4), left;

	if (size == 0xffffffff)
		size = ow_cursor_uint(&c, 8);
	left = c.bad ? 0 : (uint64_t)(c.end - c.pos);
	return size < left ? size : left;
}
