// SPDX-License-Identifier: BSD-2-Clause
#include "dies.h"

#include <dwarf.h>
#include <gelf.h>
#include <stdlib.h>
#include <string.h>

#include "cursor.h"
#include "effort.h"
#include "grow.h"
#include "owner.h"
#include "unitcost.h"

#define VARIABLE (-1) /* the size of a form's value */
#define UNKNOWN  (-2)
#define BYTES_STEP \
	64 /* bytes of values that take about as long as an attribute */

/* What DIEs of a code have in common. */
struct ow_abbrev {
	uint64_t code;
	const uint8_t *attributes; /* names and forms (DWARF 5, 7.5.3) */
	uint32_t nr;
	int32_t size; /* of the values, if it is always that; or VARIABLE */
	uint16_t tag;
	bool has_children, has_addresses, has_sibling;
};

struct attribute {
	uint64_t name, form;
};

static bool is_name_section(Elf *elf, Elf_Scn *scn, size_t names,
			    const char *name)
{
	GElf_Shdr head;
	const char *got;

	if (!gelf_getshdr(scn, &head) || head.sh_type == SHT_NOBITS)
		return false;
	got = elf_strptr(elf, names, head.sh_name);
	return got && strncmp(got, name, strlen(name)) == 0 &&
	       (!got[strlen(name)] || strcmp(got + strlen(name), ".dwo") == 0);
}

/* The bytes of .debug_abbrev from an offset on, in a file that is looked through. */
static struct ow_cursor find_abbrevs(Dwarf *dw, uint64_t off)
{
	Elf *elf = dwarf_getelf(dw);
	Elf_Scn *scn = NULL;
	Elf_Data *data;
	size_t names;

	if (elf_getshdrstrndx(elf, &names))
		return (struct ow_cursor){ NULL, NULL, true };
	while ((scn = elf_nextscn(elf, scn)))
		if (is_name_section(elf, scn, names, ".debug_abbrev"))
			break;
	data = scn ? elf_rawdata(scn, NULL) : NULL;
	if (!data || !data->d_buf || off >= data->d_size)
		return (struct ow_cursor){ NULL, NULL, true };
	return (struct ow_cursor){
		.pos = (const uint8_t *)data->d_buf + off,
		.end = (const uint8_t *)data->d_buf + data->d_size,
	};
}

static struct ow_cursor abbrevs_at(Dwarf *dw, const struct ow_unitcost *cost,
				   uint64_t off)
{
	if (!cost)
		return find_abbrevs(dw, off);
	if (off >= cost->abbrevs_size)
		return (struct ow_cursor){ NULL, NULL, true };
	return (struct ow_cursor){ .pos = cost->abbrevs + off,
				   .end = cost->abbrevs + cost->abbrevs_size };
}

/* DWARF 5, 7.5.6 */
static int size_of(const struct ow_dies *d, uint64_t form)
{
	switch (form) {
	case DW_FORM_flag_present:
	case DW_FORM_implicit_const: return 0;
	case DW_FORM_data1:
	case DW_FORM_flag:
	case DW_FORM_ref1:
	case DW_FORM_strx1:
	case DW_FORM_addrx1: return 1;
	case DW_FORM_data2:
	case DW_FORM_ref2:
	case DW_FORM_strx2:
	case DW_FORM_addrx2: return 2;
	case DW_FORM_strx3:
	case DW_FORM_addrx3: return 3;
	case DW_FORM_data4:
	case DW_FORM_ref4:
	case DW_FORM_ref_sup4:
	case DW_FORM_strx4:
	case DW_FORM_addrx4: return 4;
	case DW_FORM_data8:
	case DW_FORM_ref8:
	case DW_FORM_ref_sup8:
	case DW_FORM_ref_sig8: return 8;
	case DW_FORM_data16: return 16;
	case DW_FORM_addr: return (int)d->addr_size;
	case DW_FORM_ref_addr:
		return (int)(d->version < 3 ? d->addr_size : d->off_size);
	case DW_FORM_sec_offset:
	case DW_FORM_strp:
	case DW_FORM_line_strp:
	case DW_FORM_strp_sup:
	case DW_FORM_GNU_ref_alt:
	case DW_FORM_GNU_strp_alt: return (int)d->off_size;
	case DW_FORM_udata:
	case DW_FORM_sdata:
	case DW_FORM_ref_udata:
	case DW_FORM_strx:
	case DW_FORM_addrx:
	case DW_FORM_loclistx:
	case DW_FORM_rnglistx:
	case DW_FORM_GNU_addr_index:
	case DW_FORM_GNU_str_index:
	case DW_FORM_string:
	case DW_FORM_block1:
	case DW_FORM_block2:
	case DW_FORM_block4:
	case DW_FORM_block:
	case DW_FORM_exprloc:
	case DW_FORM_indirect: return VARIABLE;
	default: return UNKNOWN;
	}
}

/* Step over a value whose size is not always the same. */
static void skip_variable(struct ow_cursor *c, uint64_t form)
{
	const uint8_t *end;

	switch (form) {
	case DW_FORM_block1: ow_cursor_skip(c, ow_cursor_uint(c, 1)); return;
	case DW_FORM_block2: ow_cursor_skip(c, ow_cursor_uint(c, 2)); return;
	case DW_FORM_block4: ow_cursor_skip(c, ow_cursor_uint(c, 4)); return;
	case DW_FORM_block:
	case DW_FORM_exprloc: ow_cursor_skip(c, ow_cursor_uleb(c)); return;
	case DW_FORM_string:
		end = ow_cursor_more(c) ?
			      memchr(c->pos, 0, (size_t)(c->end - c->pos)) :
			      NULL;
		if (end)
			c->pos = end + 1;
		else
			c->bad = true;
		return;
	default: /* LEB128: only its end is of interest */
		while (ow_cursor_u8(c) & 0x80)
			;
	}
}

static void skip_value(const struct ow_dies *d, struct ow_cursor *c,
		       uint64_t form)
{
	int size;

	if (form == DW_FORM_indirect) {
		form = ow_cursor_uleb(c);
		if (form == DW_FORM_indirect || form == DW_FORM_implicit_const)
			c->bad = true;
	}
	size = size_of(d, form);
	if (size >= 0)
		ow_cursor_skip(c, (uint64_t)size);
	else if (size == VARIABLE)
		skip_variable(c, form);
	else
		c->bad = true;
}

/* The next attribute of an abbreviation; name and form 0 after the last one. */
static struct attribute next_attribute(struct ow_cursor *c)
{
	struct attribute a = { ow_cursor_uleb(c), ow_cursor_uleb(c) };

	if (a.form == DW_FORM_implicit_const)
		skip_variable(c, DW_FORM_sdata);
	return a;
}

static void add_attribute(const struct ow_dies *d, struct ow_abbrev *a,
			  struct attribute attribute)
{
	int size = size_of(d, attribute.form);

	if (size < 0 || a->size > INT32_MAX - size)
		a->size = VARIABLE;
	else if (a->size >= 0)
		a->size += size;
	switch (attribute.name) {
	case DW_AT_low_pc:
	case DW_AT_high_pc:
	case DW_AT_ranges:
	case DW_AT_entry_pc: a->has_addresses = true; break;
	case DW_AT_sibling: a->has_sibling = true; break;
	}
	a->nr++;
}

/* False at the end of the table, and where it can't be read any more. */
static bool read_abbrev(const struct ow_dies *d, struct ow_cursor *c,
			struct ow_abbrev *a)
{
	*a = (struct ow_abbrev){ .code = ow_cursor_uleb(c) };
	if (c->bad || a->code == 0)
		return false;
	a->tag = (uint16_t)ow_cursor_uleb(c);
	a->has_children = ow_cursor_u8(c);
	a->attributes = c->pos;
	while (ow_effort_use(d->work, 1)) {
		struct attribute attribute = next_attribute(c);

		if (c->bad)
			return false;
		if (!attribute.name && !attribute.form)
			return true;
		add_attribute(d, a, attribute);
	}
	return false;
}

static int compare(const void *a, const void *b)
{
	const struct ow_abbrev *p = a, *q = b;

	if (p->code != q->code)
		return p->code < q->code ? -1 : 1;
	/* Of two with one code the first one holds. */
	return (p->attributes > q->attributes) -
	       (p->attributes < q->attributes);
}

static bool read_abbrevs(struct ow_dies *d, struct ow_cursor c)
{
	struct ow_abbrev a;
	bool is_sorted = true;

	d->abbrevs_end = c.end;
	while (read_abbrev(d, &c, &a)) {
		size_t before = d->room;

		if (!ow_grow(&d->abbrevs, &d->room, d->nr + 1, sizeof(a)) ||
		    !ow_owner_take(d->own, (d->room - before) * sizeof(a))) {
			*d->work = 0;
			d->room = before;
			return false;
		}
		is_sorted &= d->nr == 0 || d->abbrevs[d->nr - 1].code < a.code;
		d->abbrevs[d->nr++] = a;
	}
	if (!is_sorted)
		qsort(d->abbrevs, d->nr, sizeof(a), compare);
	return *d->work > 0;
}

static const struct ow_abbrev *find_abbrev(const struct ow_dies *d,
					   uint64_t code)
{
	size_t low = 0, high = d->nr;

	/* As compilers number them. */
	if (code - 1 < d->nr && d->abbrevs[code - 1].code == code)
		return &d->abbrevs[code - 1];
	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (d->abbrevs[mid].code < code)
			low = mid + 1;
		else
			high = mid;
	}
	return low < d->nr && d->abbrevs[low].code == code ? &d->abbrevs[low] :
							     NULL;
}

/* libdw has checked that the unit is within its section (DWARF 5, 7.5.1). */
static uint64_t read_header(struct ow_dies *d, Dwarf_Die *unit)
{
	struct ow_cursor c;
	uint64_t size, abbrevs;
	bool has_type;

	d->start = (const uint8_t *)unit->addr - dwarf_cuoffset(unit);
	c = (struct ow_cursor){ d->start, unit->addr, false };
	size = ow_cursor_uint(&c, 4);
	d->off_size = size == 0xffffffff ? 8 : 4;
	if (d->off_size == 8)
		size = ow_cursor_uint(&c, 8);
	d->end = c.pos + size;
	d->version = (unsigned int)ow_cursor_uint(&c, 2);
	has_type = d->version >= 5;
	if (has_type) {
		ow_cursor_skip(&c, 1);
		d->addr_size = ow_cursor_u8(&c);
	}
	abbrevs = ow_cursor_uint(&c, d->off_size);
	if (!has_type)
		d->addr_size = ow_cursor_u8(&c);
	return c.bad || d->end <= (const uint8_t *)unit->addr ? UINT64_MAX :
								abbrevs;
}

bool ow_dies_init(struct ow_dies *d, Dwarf_Die *unit,
		  const struct ow_unitcost *cost, uint64_t *work,
		  struct ow_owner *own)
{
	uint64_t off;

	*d = (struct ow_dies){ .work = work, .own = own };
	off = read_header(d, unit);
	d->is_whole = off != UINT64_MAX &&
		      read_abbrevs(d, abbrevs_at(dwarf_cu_getdwarf(unit->cu),
						 cost, off));
	return d->is_whole;
}

void ow_dies_deinit(struct ow_dies *d)
{
	free(d->abbrevs);
	ow_owner_give(d->own, d->room * sizeof(*d->abbrevs));
	*d = (struct ow_dies){ .own = d->own };
}

/* Offsets in the unit are the only ones that are written here. */
static uint64_t read_sibling(struct ow_cursor c, uint64_t form)
{
	switch (form) {
	case DW_FORM_ref1: return ow_cursor_uint(&c, 1);
	case DW_FORM_ref2: return ow_cursor_uint(&c, 2);
	case DW_FORM_ref4: return ow_cursor_uint(&c, 4);
	case DW_FORM_ref8: return ow_cursor_uint(&c, 8);
	case DW_FORM_ref_udata: return ow_cursor_uleb(&c);
	default: return 0;
	}
}

/* Step over the values; note which sibling they name. */
static void skip_values(const struct ow_dies *d, const struct ow_abbrev *a,
			struct ow_cursor *c, struct ow_die *ret)
{
	struct ow_cursor attributes = { a->attributes, d->abbrevs_end, false };

	for (uint32_t i = 0; i < a->nr && !c->bad; i++) {
		struct attribute attribute = next_attribute(&attributes);

		if (attribute.name == DW_AT_sibling)
			ret->sibling = read_sibling(*c, attribute.form);
		skip_value(d, c, attribute.form);
	}
}

bool ow_dies_read(const struct ow_dies *d, const uint8_t *at,
		  struct ow_die *ret)
{
	struct ow_cursor c = { at, d->end, at < d->start || at >= d->end };
	uint64_t code = ow_cursor_uleb(&c);
	const struct ow_abbrev *a = code ? find_abbrev(d, code) : NULL;
	bool is_fixed = a && a->size >= 0 && !a->has_sibling;

	if (!a || c.bad || !ow_effort_use(d->work, is_fixed ? 1 : 1 + a->nr))
		return false;
	*ret = (struct ow_die){
		.at = at,
		.tag = a->tag,
		.nr_attributes = a->nr,
		.has_children = a->has_children,
		.has_addresses = a->has_addresses,
	};
	if (is_fixed)
		ow_cursor_skip(&c, (uint64_t)a->size);
	else
		skip_values(d, a, &c, ret);
	ret->after = c.pos;
	return !c.bad &&
	       ow_effort_use(d->work, (uint64_t)(c.pos - at) / BYTES_STEP);
}

bool ow_dies_is_end(const struct ow_dies *d, const uint8_t *at)
{
	return at < d->end && *at == 0;
}

/* The sibling that a DIE names, if it is after the DIE; or NULL. */
static const uint8_t *named_sibling(const struct ow_dies *d,
				    const struct ow_die *die)
{
	if (die->sibling > (uint64_t)(d->end - d->start) ||
	    die->sibling < (uint64_t)(die->after - d->start))
		return NULL;
	return d->start + die->sibling;
}

const uint8_t *ow_dies_after(const struct ow_dies *d, const struct ow_die *die)
{
	const uint8_t *at = named_sibling(d, die);
	struct ow_die inner;
	size_t depth = 1;

	if (!die->has_children)
		return die->after;
	if (at)
		return at;
	for (at = die->after; depth > 0;) {
		if (at >= d->end)
			return NULL;
		if (*at == 0) {
			depth--;
			at++;
			if (!ow_effort_use(d->work, 1))
				return NULL;
		} else if (!ow_dies_read(d, at, &inner)) {
			return NULL;
		} else if (inner.has_children && named_sibling(d, &inner)) {
			at = named_sibling(d, &inner);
		} else {
			depth += inner.has_children;
			at = inner.after;
		}
	}
	return at;
}
