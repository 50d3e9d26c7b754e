// SPDX-License-Identifier: BSD-2-Clause
#include "ranges.h"

#include <dwarf.h>

#include "cursor.h"
#include "effort.h"
#include "unitcost.h"

#define RANGE_STEPS 8 /* that libdw takes for a range */
#define BASE_STEPS  4 /* and for a base address */
#define LONGEST_LEB 10

void ow_ranges_init(struct ow_ranges *r, const Dwarf_Die *die,
		    uint64_t nr_attributes, const struct ow_unitcost *cost,
		    uint64_t *work)
{
	*r = (struct ow_ranges){
		.die = *die,
		.cost = cost,
		.work = work,
		.steps = RANGE_STEPS + nr_attributes,
	};
}

/* What is to be known of a unit's lists. */
struct lists {
	struct ow_cursor c; /* all of the section */
	Dwarf_Half version;
	uint8_t addr_size, off_size;
	Dwarf_Die unit;
};

static bool find_lists(const struct ow_ranges *r, struct lists *l)
{
	const struct ow_unitcost *cost = r->cost;

	if (dwarf_cu_info(r->die.cu, &l->version, NULL, &l->unit, NULL, NULL,
			  &l->addr_size, &l->off_size))
		return false;
	if (l->version < 5)
		l->c = (struct ow_cursor){ cost->ranges,
					   cost->ranges + cost->ranges_size,
					   cost->ranges_size == 0 };
	else
		l->c = (struct ow_cursor){ cost->rnglists,
					   cost->rnglists + cost->rnglists_size,
					   cost->rnglists_size == 0 };
	return !l->c.bad;
}

/* Step over a base address (DWARF 4, 2.17.3); false if it is none. */
static bool skip_old_base(struct ow_cursor *c, unsigned int addr_size)
{
	uint64_t none = addr_size == 8 ? UINT64_MAX : UINT32_MAX;

	if (ow_cursor_uint(c, addr_size) != none)
		return false;
	return ow_cursor_skip(c, addr_size);
}

/* DWARF 5, 2.17.3 */
static bool skip_base(struct ow_cursor *c, unsigned int addr_size)
{
	switch (ow_cursor_u8(c)) {
	case DW_RLE_base_addressx:
		for (int i = 1; (ow_cursor_u8(c) & 0x80) && i < LONGEST_LEB;)
			i++;
		return !c->bad;
	case DW_RLE_base_address: return ow_cursor_skip(c, addr_size);
	default: return false;
	}
}

/* Pay for the base addresses that come next in the list at off. */
static bool pay_bases(struct ow_ranges *r, const struct lists *l, uint64_t off)
{
	struct ow_cursor c = l->c;

	ow_cursor_skip(&c, off);
	while (l->version < 5 ? skip_old_base(&c, l->addr_size) :
				skip_base(&c, l->addr_size))
		if (!ow_effort_use(r->work, BASE_STEPS))
			return false;
	return true;
}

/* Pay for those of list index of the ones whose offsets are at base. */
static bool pay_list(struct ow_ranges *r, const struct lists *l, uint64_t base,
		     uint64_t index)
{
	struct ow_cursor c = l->c;

	ow_cursor_skip(&c, base);
	if (c.bad || index >= (uint64_t)(c.end - c.pos) / l->off_size)
		return true;
	ow_cursor_skip(&c, index * l->off_size);
	return pay_bases(r, l, base + ow_cursor_uint(&c, l->off_size));
}

/* Pay for a look at the unit's attributes, which is taken for each of its DIEs. */
static bool pay_unit(struct ow_ranges *r, struct lists *l)
{
	size_t nr;

	return dwarf_tag(&l->unit) != DW_TAG_invalid &&
	       dwarf_getattrcnt(l->unit.abbrev, &nr) == 0 &&
	       ow_effort_use(r->work, 2 * (uint64_t)(nr + 1));
}

/* The size of the section's first header (DWARF 5, 7.28). */
static uint64_t header_size(struct ow_cursor c)
{
	return ow_cursor_uint(&c, 4) == 0xffffffff ? 20 : 12;
}

/* Pay for those at the beginning of the DIE's list. */
static bool pay_first(struct ow_ranges *r, struct lists *l)
{
	Dwarf_Attribute attr;
	Dwarf_Word value, base;

	if (!dwarf_attr(&r->die, DW_AT_ranges, &attr) ||
	    dwarf_formudata(&attr, &value))
		return true;
	if (dwarf_whatform(&attr) != DW_FORM_rnglistx)
		return pay_bases(r, l, value);
	if (!pay_unit(r, l))
		return false;
	if (dwarf_attr(&l->unit,
		       l->version < 5 ? DW_AT_GNU_ranges_base :
					DW_AT_rnglists_base,
		       &attr) &&
	    dwarf_formudata(&attr, &base) == 0 && base)
		return pay_list(r, l, base, value);
	/* Where the unit names no base, libdw takes 0 or the end of the header. */
	return pay_list(r, l, 0, value) &&
	       pay_list(r, l, header_size(l->c), value);
}

static bool pay_next(struct ow_ranges *r)
{
	struct lists l;

	/* dwarf_ranges() has no list to go on with at 1. */
	if (!r->cost || r->at == 1 || !find_lists(r, &l))
		return true;
	return r->at ? pay_bases(r, &l, (uint64_t)r->at) : pay_first(r, &l);
}

bool ow_ranges_next(struct ow_ranges *r)
{
	if (r->at < 0 || !ow_effort_use(r->work, r->steps) || !pay_next(r))
		return false;
	r->at = dwarf_ranges(&r->die, r->at, &r->base, &r->start, &r->end);
	if (r->at <= 0)
		r->at = -1;
	return r->at > 0;
}
