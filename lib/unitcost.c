// SPDX-License-Identifier: BSD-2-Clause
#include "unitcost.h"

#include <dwarf.h>
#include <elf.h>
#include <string.h>

#include "cursor.h"
#include "dwarfimage.h"
#include "effort.h"
#include "elfsym.h"

static void find(const struct ow_elf *elf, const char *name,
		 const uint8_t **bytes_ret, uint64_t *size_ret)
{
	struct ow_elf_section sec;

	for (uint32_t i = 1; ow_elf_section(elf, i, &sec); i++) {
		/* As libdw does, which looks for one that has bytes. */
		if (sec.type == SHT_NOBITS || sec.size == 0 ||
		    (sec.flags & SHF_GROUP) ||
		    !ow_elf_section_is(elf, &sec, name))
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
	find(&elf, ".debug_line_str", &c->line_strings, &c->line_strings_size);
	find(&elf, ".debug_str", &c->strings, &c->strings_size);
	find(&elf, ".debug_ranges", &c->ranges, &c->ranges_size);
	find(&elf, ".debug_rnglists", &c->rnglists, &c->rnglists_size);
}

static struct ow_cursor from(const uint8_t *bytes, uint64_t size, uint64_t off)
{
	if (off >= size)
		return (struct ow_cursor){ NULL, NULL, true };
	return (struct ow_cursor){ bytes + off, bytes + size, false };
}

/*
 * A code, name or form as libdw reads it: of ten bytes at most, and the lower half of
 * the value.
 */
static uint32_t read_number(struct ow_cursor *c)
{
	uint64_t value = 0;

	if (ow_cursor_more(c) && *c->pos < 0x80)
		return *c->pos++;
	for (unsigned int shift = 0; shift < 70; shift += 7) {
		uint8_t byte = ow_cursor_u8(c);

		value |= (uint64_t)(byte & 0x7f) << shift;
		if (!(byte & 0x80))
			return (uint32_t)value;
	}
	return UINT32_MAX;
}

/* Move on past an abbreviation's tag, children and attributes (DWARF 5, 7.5.3). */
static void skip_abbrev(struct ow_cursor *c)
{
	uint32_t name, form;

	read_number(c);
	ow_cursor_u8(c);
	do {
		name = read_number(c);
		form = read_number(c);
		if (form == DW_FORM_implicit_const)
			read_number(c);
	} while (!c->bad && (name || form));
}

/* Up to the one of that code, or with code 0 to the end. */
static uint64_t bytes_to(const struct ow_unitcost *u, uint64_t off,
			 uint32_t code, uint64_t most)
{
	struct ow_cursor c = from(u->abbrevs, u->abbrevs_size, off);
	bool is_cut = !c.bad && most < (uint64_t)(c.end - c.pos);
	bool is_found = false;

	if (is_cut)
		c.end = c.pos + most;
	while (!is_found && ow_cursor_more(&c)) {
		bool is_end = *c.pos == 0;
		uint32_t at = read_number(&c);

		if (!is_end)
			skip_abbrev(&c);
		is_found = !c.bad && (is_end || (code && at == code));
	}
	if (is_cut && !is_found)
		return most + 1;
	return c.pos ? (uint64_t)(c.pos - u->abbrevs) - off : 0;
}

uint64_t ow_unitcost_abbrevs(const struct ow_unitcost *u, uint64_t off,
			     uint64_t die, uint64_t most)
{
	struct ow_cursor c = from(u->info, u->info_size, die);

	return bytes_to(u, off, read_number(&c), most);
}

uint64_t ow_unitcost_all_abbrevs(const struct ow_unitcost *u, uint64_t off,
				 uint64_t most)
{
	return bytes_to(u, off, 0, most);
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

#define TEXT_STEP 16 /* bytes of a text that take a step */
#define FILE_KEPT 40 /* bytes of libdw 0.188 for a file, beside its name */

/* The header of a line table, and what its names take (DWARF 5, 6.2.4). */
struct files {
	const struct ow_unitcost *sections;
	struct ow_cursor c;
	unsigned int version, off_size;
	uint64_t nr, size; /* of files, and the bytes of their names */
	uint64_t longest;  /* folder */
	uint64_t read;     /* bytes of strings, also of those that are shared */
	uint64_t most;     /* of these bytes */
	uint64_t *work;    /* steps that may still be taken */
};

/* Return true if more of such a text may be copied, once it has been measured. */
static bool may_grow(const struct files *f, const uint8_t *bytes,
		     uint64_t length)
{
	const struct ow_unitcost *s = f->sections;

	return s->image && s->image->bytes && bytes == s->strings &&
	       length >= OW_DWARFIMAGE_TEXT;
}

/*
 * The length of the text at off of a section, or more than there is work for: a step
 * for each few bytes; or more than there may be of them.
 */
static uint64_t length_at(struct files *f, const uint8_t *bytes, uint64_t size,
			  uint64_t off)
{
	uint64_t most, n;

	if (off >= size)
		return 0;
	if (f->sections->image &&
	    !ow_dwarfimage_want_text(f->sections->image,
				     (const char *)bytes + off))
		*f->work = 0;
	most = size - off;
	if (*f->work < most / TEXT_STEP)
		most = (*f->work + 1) * TEXT_STEP;
	n = strnlen((const char *)bytes + off, most);
	ow_effort_use(f->work, n / TEXT_STEP);
	return may_grow(f, bytes, n) ? f->most + 1 : n;
}

/* Step over a text; its length. */
static uint64_t skip_text(struct ow_cursor *c)
{
	uint64_t left = ow_cursor_more(c) ? (uint64_t)(c->end - c->pos) : 0;
	uint64_t n = left ? strnlen((const char *)c->pos, left) : 0;

	ow_cursor_skip(c, n + 1);
	return n;
}

static void add_folder(struct files *f, uint64_t length)
{
	f->read += length;
	if (length > f->longest)
		f->longest = length;
}

static void add_file(struct files *f, uint64_t length)
{
	f->read += length;
	f->size += length;
	f->nr++;
}

static bool may_go_on(const struct files *f)
{
	return ow_cursor_more(&f->c) && f->read <= f->most && *f->work > 0;
}

/* Before DWARF 5; a file's folder, time and size come after its name. */
static void read_old_lists(struct files *f)
{
	uint64_t length;

	while (may_go_on(f) && (length = skip_text(&f->c)))
		add_folder(f, length);
	while (may_go_on(f) && (length = skip_text(&f->c))) {
		add_file(f, length);
		for (int i = 0; i < 3; i++)
			ow_cursor_uleb(&f->c);
	}
}

/* Step over a value, of the forms that may be in such a list; a text's length. */
static uint64_t read_value(struct files *f, uint64_t form)
{
	const struct ow_unitcost *s = f->sections;

	switch (form) {
	case DW_FORM_string: return skip_text(&f->c);
	case DW_FORM_line_strp:
		return length_at(f, s->line_strings, s->line_strings_size,
				 ow_cursor_uint(&f->c, f->off_size));
	case DW_FORM_strp:
		return length_at(f, s->strings, s->strings_size,
				 ow_cursor_uint(&f->c, f->off_size));
	case DW_FORM_udata: ow_cursor_uleb(&f->c); return 0;
	case DW_FORM_data1: ow_cursor_skip(&f->c, 1); return 0;
	case DW_FORM_data2: ow_cursor_skip(&f->c, 2); return 0;
	case DW_FORM_data4: ow_cursor_skip(&f->c, 4); return 0;
	case DW_FORM_data8: ow_cursor_skip(&f->c, 8); return 0;
	case DW_FORM_data16: ow_cursor_skip(&f->c, 16); return 0;
	case DW_FORM_block:
		ow_cursor_skip(&f->c, ow_cursor_uleb(&f->c));
		return 0;
	default: f->c.bad = true; return 0;
	}
}

static void read_list(struct files *f,
		      void (*add)(struct files *f, uint64_t length))
{
	struct ow_cursor formats = f->c;
	unsigned int nr_formats = ow_cursor_u8(&formats);
	struct ow_cursor at;
	uint64_t nr, length, size;

	f->c = formats;
	for (unsigned int i = 0; i < 2 * nr_formats; i++)
		ow_cursor_uleb(&f->c);
	size = (uint64_t)(f->c.pos - formats.pos);
	nr = ow_cursor_uleb(&f->c);
	for (; nr > 0 && nr_formats > 0 && may_go_on(f); nr--) {
		/* They are read again for each. */
		if (!ow_effort_use(f->work, size))
			return;
		at = formats;
		length = 0;
		for (unsigned int i = 0; i < nr_formats; i++) {
			uint64_t type = ow_cursor_uleb(&at);
			uint64_t n = read_value(f, ow_cursor_uleb(&at));

			if (type == DW_LNCT_path)
				length = n;
		}
		add(f, length);
	}
}

/* Files that the program of the table defines (DWARF 4, 6.2.5.3). */
static void read_program(struct files *f, const uint8_t *operands,
			 unsigned int first_special)
{
	while (may_go_on(f)) {
		unsigned int opcode = ow_cursor_u8(&f->c);
		struct ow_cursor at;
		uint64_t size;

		if (opcode >= first_special)
			continue;
		if (opcode == DW_LNS_fixed_advance_pc) {
			ow_cursor_skip(&f->c, 2);
		} else if (opcode) {
			for (unsigned int i = 0; i < operands[opcode - 1]; i++)
				ow_cursor_uleb(&f->c);
		} else {
			size = ow_cursor_uleb(&f->c);
			at = f->c;
			ow_cursor_skip(&f->c, size);
			if (ow_cursor_u8(&at) == DW_LNE_define_file)
				add_file(f, skip_text(&at));
		}
	}
}

static void read_table(struct files *f)
{
	unsigned int first_special;
	const uint8_t *operands;
	struct ow_cursor program;
	uint64_t size;

	f->version = (unsigned int)ow_cursor_uint(&f->c, 2);
	if (f->version >= 5)
		ow_cursor_skip(&f->c, 2);
	size = ow_cursor_uint(&f->c, f->off_size);
	program = f->c;
	ow_cursor_skip(&program, size);
	ow_cursor_skip(&f->c, f->version >= 4 ? 5 : 4);
	first_special = ow_cursor_u8(&f->c);
	operands = ow_cursor_skip(&f->c, first_special ? first_special - 1 : 0);
	if (f->version >= 5) {
		read_list(f, add_folder);
		read_list(f, add_file);
	} else {
		read_old_lists(f);
	}
	f->c = program;
	if (operands)
		read_program(f, operands, first_special);
}

uint64_t ow_unitcost_files(const struct ow_unitcost *u, uint64_t off,
			   size_t folder_size, uint64_t most, uint64_t *work)
{
	struct files f = {
		.sections = u,
		.c = from(u->lines, u->lines_size, off),
		.off_size = 4,
		.most = most,
		.work = work,
	};
	uint64_t size = ow_cursor_uint(&f.c, 4), each;

	if (size == 0xffffffff) {
		size = ow_cursor_uint(&f.c, 8);
		f.off_size = 8;
	}
	if (f.c.bad)
		return 0;
	if (size < (uint64_t)(f.c.end - f.c.pos))
		f.c.end = f.c.pos + size;
	/* Each byte is read once or twice, but for what is paid for apart. */
	if (ow_effort_use(work, (uint64_t)(f.c.end - f.c.pos)))
		read_table(&f);
	each = FILE_KEPT + f.longest + folder_size;
	if (*work == 0 || f.read > most || (f.nr && each > most / f.nr))
		return most + 1;
	return f.size + f.nr * each;
}
