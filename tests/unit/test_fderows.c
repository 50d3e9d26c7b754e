// SPDX-License-Identifier: BSD-2-Clause
/* Rows by remembered states, beside those that the machine makes. */
#include "bytes.h"
#include "cfainsn.h"
#include "fdeindex.h"
#include "fderows.h"
#include "rowexpr.h"
#include "test.h"
#include "worktime.h"

enum {
	SECTION = 0x10000000, /* vaddr */
	CODE = 0x1000,
	APART = 0x10000,
	MOST_FDES = OW_FDEINDEX_MANY + 500,
	MOST_INSNS = 40, /* bytes of an FDE */
};

static uint8_t section[128 * MOST_FDES];
static size_t size;
static struct ow_fde_ref refs[MOST_FDES];
static size_t nr_refs;
static uint32_t seed;

static uint32_t pick(uint32_t below)
{
	seed = seed * 1664525 + 1013904223;
	return (seed >> 8) % below;
}

static void add(const void *bytes, size_t n)
{
	if (n)
		memcpy(section + size, bytes, n);
	size += n;
}

static void word(uint32_t value)
{
	add(&value, 4);
}

static void begin_section(void)
{
	size = nr_refs = 0;
	seed = 1;
}

/* A CIE's or FDE's length, once it is known. */
static void end_entry(size_t at)
{
	uint32_t length = (uint32_t)(size - at - 4);

	memcpy(section + at, &length, 4);
}

/* Version 1, no augmentation: addresses have 8 bytes. */
static size_t put_cie(uint8_t code_align, uint8_t data_align,
		      const uint8_t *insns, size_t n)
{
	const uint8_t head[] = { 1, 0, code_align, data_align, 16 };
	size_t at = size;

	word(0);
	word(0);
	add(head, sizeof(head));
	add(insns, n);
	end_entry(at);
	return at;
}

static void put_fde(size_t cie, const uint8_t *insns, size_t n)
{
	uint64_t start = CODE + (uint64_t)APART * nr_refs, length = APART;
	size_t at = size;

	refs[nr_refs++] = (struct ow_fde_ref){ start, at };
	word(0);
	word((uint32_t)(size - cie));
	add(&start, 8);
	add(&length, 8);
	add(insns, n);
	end_entry(at);
}

/* Any instruction, mostly what compilers write; return its size. */
static size_t random_insn(uint8_t *to)
{
	static const uint8_t regs[] = { 3, 6, 7, 12, 13, 14, 15, 16, 70 };
	static const uint8_t none[] = { OW_CFA_nop, OW_CFA_remember_state,
					OW_CFA_restore_state, 0x3f };
	static const uint8_t moves[] = { OW_CFA_advance_loc1,
					 OW_CFA_advance_loc2,
					 OW_CFA_advance_loc4 };
	uint8_t reg = regs[pick(OW_ARRAY_SIZE(regs))], low = (uint8_t)pick(64);

	memset(to, 0, 8);
	to[1] = reg;
	switch (pick(14)) {
	case 0:
	case 1:
	case 2: to[0] = OW_CFA_advance_loc | low % 16; return 1;
	case 3:
		to[0] = OW_CFA_offset | low % 17;
		to[1] = low;
		return 2;
	case 4: to[0] = OW_CFA_restore | low % 17; return 1;
	case 5: to[0] = none[pick(128) ? low % 3 : 3]; return 1;
	case 6:
		to[0] = OW_CFA_def_cfa;
		to[2] = low;
		return 3;
	case 7: to[0] = OW_CFA_def_cfa_register; return 2;
	case 8:
		to[0] = OW_CFA_def_cfa_offset;
		to[1] = low;
		return 2;
	case 9:
		to[0] = OW_CFA_def_cfa_offset;
		to[1] = 0x80 | low;
		to[2] = (uint8_t)pick(128);
		return 3;
	case 10:
		to[0] = moves[low % 3];
		to[1] = (uint8_t)pick(256);
		return low % 3 == 2 ? 5 : 2 + low % 3;
	case 11:
		to[0] = OW_CFA_offset_extended;
		to[2] = low;
		return 3;
	case 12:
		to[0] = OW_CFA_GNU_args_size;
		to[1] = low;
		return 2;
	default:
		/* DW_OP_breg7 8, for one in some. */
		to[0] = low % 8 ? OW_CFA_same_value : OW_CFA_expression;
		if (low % 8)
			return 2;
		to[2] = 2;
		to[3] = 0x77;
		to[4] = 8;
		return 5;
	}
}

static size_t random_insns(uint8_t *to)
{
	size_t n = 0, most = pick(MOST_INSNS - 8);

	while (n < most)
		n += random_insn(to + n);
	/* Some are cut. */
	return n && !pick(16) ? n - 1 : n;
}

static void put_random(size_t nr, const size_t *cies, size_t nr_cies)
{
	uint8_t insns[MOST_INSNS];

	while (nr--)
		put_fde(cies[pick((uint32_t)nr_cies)], insns,
			random_insns(insns));
}

/* Does the rule of that number say what the row does? */
static bool says(const struct ow_flatrows *f, uint16_t number,
		 const struct ow_row *row)
{
	uint32_t rule = f->rules[number - OW_TABLE_FIRST];
	const struct ow_tableset *set = &f->sets.all[OW_TABLE_CODE_SET(rule)];
	const uint8_t *save = set->saves;
	bool has_ra = false;
	unsigned int i;

	if (row->cfa.kind != OW_RULE_REG || row->cfa.reg != set->reg ||
	    row->cfa.off != (int32_t)OW_TABLE_CODE_WORDS(rule) * 8)
		return false;
	for (i = 0; i < row->nr; i++) {
		if (row->rules[i].kind != OW_RULE_AT_CFA)
			return false;
		if (row->rules[i].slot == f->ra && row->rules[i].off == -8) {
			has_ra = true;
			continue;
		}
		if (row->rules[i].slot != save[0] ||
		    row->rules[i].off != (int8_t)save[1] * 8)
			return false;
		save += 2;
	}
	return has_ra == !!(set->head & OW_TABLE_SET_RA) &&
	       save - set->saves == 2 * OW_TABLE_SET_NR(set->head);
}

/* Can a table hold it? */
static bool is_plain(const struct ow_row *row)
{
	unsigned int i;

	if (row->cfa.kind != OW_RULE_REG || row->cfa.off % 8 ||
	    row->cfa.off < 0 || row->cfa.off / 8 > OW_TABLE_MAX_WORDS)
		return false;
	for (i = 0; i < row->nr; i++)
		if (row->rules[i].kind != OW_RULE_AT_CFA ||
		    row->rules[i].off % 8 || row->rules[i].off / 8 < -128 ||
		    row->rules[i].off / 8 > 127)
			return false;
	return true;
}

/* The number that the flat rows have for an address. */
static uint16_t number_at(const struct ow_flatrows *f, size_t *at,
			  uint64_t vaddr)
{
	while (*at + 1 < f->nr && f->base + f->rows[*at + 1].off <= vaddr)
		++*at;
	return f->rows[*at].rule;
}

/* Tables have room for any of these rows, if is_roomy. */
static void check_row(const struct ow_flatrows *f, uint16_t number,
		      const struct ow_row *row, bool is_roomy)
{
	if (number == OW_TABLE_ESCAPE)
		CHECK(!is_roomy || !is_plain(row));
	else if (number == OW_TABLE_SIGNAL)
		CHECK(ow_row_is_sigframe(&ow_arch_x86_64, row));
	else
		CHECK(number != OW_TABLE_NONE && is_plain(row) &&
		      says(f, number, row));
}

/* One FDE's; return how many the machine makes. */
static uint64_t check_fde(const struct ow_flatrows *f, size_t *at,
			  const struct ow_fde *fde, bool is_roomy)
{
	struct ow_rule rules[OW_MAX_REGS];
	static struct ow_cfa cfa;
	struct ow_row row;
	uint64_t nr = 0;
	int more;

	CHECK(!ow_cfa_begin(&cfa, &fde->cie, fde->insns, fde->start, fde->end));
	while ((more = ow_cfa_next(&cfa)) > 0) {
		ow_cfa_row(&cfa, &row, rules);
		check_row(f, number_at(f, at, cfa.start), &row, is_roomy);
		check_row(f, number_at(f, at, cfa.next - 1), &row, is_roomy);
		nr++;
	}
	if (more < 0)
		CHECK(number_at(f, at, fde->end - 1) == OW_TABLE_ESCAPE);
	return nr;
}

static struct ow_flatrows *make(struct ow_object *obj)
{
	*obj = (struct ow_object){
		.elf.arch = &ow_arch_x86_64,
		.cfi.arch = &ow_arch_x86_64,
		.cfi.eh_frame = { section, size, SECTION },
	};
	return ow_fderows_make(obj, refs, nr_refs, NULL);
}

static void check_all(bool is_roomy)
{
	struct ow_cfi_env none = { .memo = NULL };
	struct ow_object obj;
	struct ow_flatrows *f = make(&obj);
	struct ow_fde fde;
	uint64_t nr = 0, off;
	size_t i, at = 0;

	CHECK(f);
	for (i = 0; f && i < nr_refs; i++) {
		off = refs[i].off;
		CHECK(ow_cfi_entry(&obj.cfi, &none, false, &off, &fde) == 1);
		nr += check_fde(f, &at, &fde, is_roomy);
	}
	CHECK(f && f->cfi_rows == nr);
	CHECK(f && f->rows[f->nr - 1].rule == OW_TABLE_NONE);
	ow_flatrows_destroy(f);
}

static const uint8_t usual[] = { OW_CFA_def_cfa, 7, 8, OW_CFA_offset | 16, 1 };

/* Some, where a set or a state is always found. */
static void test_any(void)
{
	static const uint8_t other[] = {
		OW_CFA_def_cfa,    6, 16, OW_CFA_offset | 16, 1,
		OW_CFA_offset | 3, 3
	};
	size_t cies[3];

	begin_section();
	cies[0] = put_cie(1, 0x78, usual, sizeof(usual));
	cies[1] = put_cie(1, 0x78, other, sizeof(other));
	cies[2] = put_cie(4, 0x7c, usual, sizeof(usual));
	put_random(400, cies, 3);
	check_all(true);
}

/* More states, sets and rules than there is room for, by two threads. */
static void test_many(void)
{
	size_t cie;

	begin_section();
	cie = put_cie(1, 0x78, usual, sizeof(usual));
	put_random(MOST_FDES, &cie, 1);
	check_all(false);
}

/* More kinds of CIEs than are told apart. */
static void test_families(void)
{
	uint8_t initial[sizeof(usual)];
	size_t cies[40], i;

	begin_section();
	memcpy(initial, usual, sizeof(usual));
	for (i = 0; i < OW_ARRAY_SIZE(cies); i++) {
		initial[2] = (uint8_t)(8 * i);
		cies[i] = put_cie(1, 0x78, initial, sizeof(initial));
	}
	put_random(400, cies, OW_ARRAY_SIZE(cies));
	check_all(true);
}

static uint64_t steps_of(void)
{
	uint64_t before = ow_worktime_steps(ow_worktime_mine());
	struct ow_object obj;

	ow_flatrows_destroy(make(&obj));
	return ow_worktime_steps(ow_worktime_mine()) - before;
}

/* What a CIE has is run for each FDE that follows one of another CIE. */
static void test_steps(void)
{
	static const uint8_t insns[] = { OW_CFA_nop, OW_CFA_nop, OW_CFA_nop };
	uint8_t long_insns[MOST_INSNS * 20] = { OW_CFA_def_cfa, 7, 8 };
	size_t cies[2], i;

	begin_section();
	for (i = 0; i < 2; i++) {
		long_insns[2] = (uint8_t)(8 + 8 * i);
		cies[i] = put_cie(1, 0x78, long_insns, sizeof(long_insns));
	}
	for (i = 0; i < 200; i++)
		put_fde(cies[0], insns, sizeof(insns));
	CHECK(steps_of() < 100 * sizeof(long_insns));
	for (i = 0; i < MOST_FDES - 200; i++)
		put_fde(cies[i % 2], insns, sizeof(insns));
	CHECK(steps_of() >= (MOST_FDES - 200) * sizeof(long_insns));
}

/* Of that many states the last ones are not remembered. */
static void test_states(void)
{
	uint8_t insns[] = { OW_CFA_def_cfa_offset, 0, 0, OW_CFA_advance_loc | 1,
			    OW_CFA_offset | 3,     5 };
	size_t cie;
	unsigned int i;

	begin_section();
	cie = put_cie(1, 0x78, usual, sizeof(usual));
	for (i = 0; i < 5000; i++) {
		insns[1] = 0x80 | (i << 3 & 0x7f);
		insns[2] = (uint8_t)(i >> 4 & 0x7f);
		insns[5] = (uint8_t)(3 + i / 2048);
		put_fde(cie, insns, sizeof(insns));
	}
	check_all(false);
}

/* A list that says what the FDEs don't. */
static void test_wrong_list(void)
{
	struct ow_object obj;
	size_t cie;

	begin_section();
	cie = put_cie(1, 0x78, usual, sizeof(usual));
	put_fde(cie, NULL, 0);
	put_fde(cie, NULL, 0);
	refs[1].start++;
	CHECK(!make(&obj));
	refs[1].start--;
	refs[1].off = cie;
	CHECK(!make(&obj));
	refs[1].off = size;
	CHECK(!make(&obj));
}

int main(void)
{
	static const struct test tests[] = {
		{ "any", test_any },
		{ "many", test_many },
		{ "families", test_families },
		{ "steps", test_steps },
		{ "states", test_states },
		{ "wrong list", test_wrong_list },
	};

	return test_main(tests, OW_ARRAY_SIZE(tests));
}
