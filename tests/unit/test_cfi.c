// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* Reading CIEs and FDEs. */
#include "cfimake.h"
#include "test.h"

static void check_fde(const struct format *f, const struct ow_fde *fde,
		      size_t off, uint64_t start, uint64_t end)
{
	CHECK(fde->off == off && fde->start == start && fde->end == end);
	CHECK(!fde->insns.bad);
	CHECK(fde->insns.end - fde->insns.pos == sizeof(insns));
	CHECK(memcmp(fde->insns.pos, insns, sizeof(insns)) == 0);
	CHECK(fde->cie.arch == f->arch && fde->cie.code_align == 1);
	CHECK(fde->cie.data_align == -(int)f->arch->word);
	CHECK(fde->cie.ra == f->arch->pc && fde->cie.fde_enc == f->enc);
	CHECK(fde->cie.has_aug_data == (strchr(f->aug, 'z') != NULL));
	CHECK(fde->cie.signal_frame == (strchr(f->aug, 'S') != NULL));
	CHECK(fde->cie.insns_end - fde->cie.insns == sizeof(insns));
	CHECK(memcmp(fde->cie.insns, insns, sizeof(insns)) == 0);
	CHECK(fde->cie.section_vaddr == SECTION);
}

/* Entry by entry to the end, whatever the bytes are. */
static void read_all(const struct ow_cfi *cfi, bool is_debug)
{
	uint64_t size = is_debug ? cfi->debug_frame.size : cfi->eh_frame.size;
	struct ow_fde fde;
	uint64_t off = 0, old;
	int kind;

	do {
		old = off;
		kind = ow_cfi_entry(cfi, &env, is_debug, &off, &fde);
		CHECK(kind >= -OW_EUNSUPPORTED && kind <= 2);
		CHECK(off <= size && (off > old || kind <= 0));
	} while (kind != 0 && off < size);
}

/* A CIE, two FDEs, a terminator, and an FDE behind it that isn't reached. */
static void check_format(const struct format *f)
{
	struct ow_cfi cfi;
	struct ow_fde fde;
	size_t cie, a, c, end, size;
	uint64_t off = 0;

	b.size = 0;
	cie = put_cie(f);
	a = put_fde(f, cie, A, B);
	c = put_fde(f, cie, C, C_END);
	end = b.size;
	if (!f->is_debug) {
		put(&b, 4, 0);
		put_fde(f, cie, B, B_END);
	}
	cfi = cfi_over(f, b.at, b.size);
	CHECK(ow_cfi_entry(&cfi, &env, f->is_debug, &off, &fde) == 2);
	CHECK(off == a);
	CHECK(ow_cfi_entry(&cfi, &env, f->is_debug, &off, &fde) == 1);
	check_fde(f, &fde, a, A, B);
	CHECK(off == c);
	CHECK(ow_cfi_entry(&cfi, &env, f->is_debug, &off, &fde) == 1);
	check_fde(f, &fde, c, C, C_END);
	CHECK(off == end);
	CHECK(ow_cfi_entry(&cfi, &env, f->is_debug, &off, &fde) == 0);
	CHECK(off == b.size);
	for (size = 0; size < b.size; size++) {
		uint8_t *bytes = exact(b.at, size);

		cfi = cfi_over(f, bytes, size);
		read_all(&cfi, f->is_debug);
		free(bytes);
	}
}

static void test_augmentations(void)
{
	/* personality: pcrel, indirect, 4 bytes; then L, then R */
	static const uint8_t plr[] = { 0x9b, 1, 2, 3, 4, 0x1b, PCREL4 };
	static const uint8_t p_omit[] = { OW_PE_OMIT, PCREL4 };
	static const uint8_t p_uleb[] = { OW_PE_ULEB128, 0x80, 1, PCREL4 };
	static const uint8_t abs8[] = { OW_PE_UDATA8 };
	static const uint8_t longer[] = { PCREL4, 1, 2, 3 };

	static const struct {
		const char *aug;
		const uint8_t *data;
		size_t size;
		uint8_t enc;
	} cases[] = {
		{ "zR", aug_zr, 1, PCREL4 },
		{ "", NULL, 0, 0 },
		{ "z", aug_zr, 0, 0 },
		{ "eh", NULL, 0, 0 },
		{ "zPLR", plr, sizeof(plr), PCREL4 },
		{ "zPR", p_omit, sizeof(p_omit), PCREL4 },
		{ "zPR", p_uleb, sizeof(p_uleb), PCREL4 },
		{ "zRS", aug_zr, 1, PCREL4 },
		{ "zRB", aug_zr, 1, PCREL4 },
		{ "zRG", aug_zr, 1, PCREL4 },
		{ "zSBGR", aug_zr, 1, PCREL4 },
		{ "zL", aug_zr, 1, 0 },
		{ "zR", abs8, 1, OW_PE_UDATA8 },
		{ "zR", longer, sizeof(longer), PCREL4 },
	};
	struct format f = usual;
	size_t i;

	for (i = 0; i < OW_ARRAY_SIZE(cases); i++) {
		f.aug = cases[i].aug;
		f.aug_data = cases[i].data ? cases[i].data : aug_zr;
		f.aug_size = cases[i].size;
		f.enc = cases[i].enc;
		check_format(&f);
	}
}

static void test_versions_and_lengths(void)
{
	static const uint8_t versions[] = { 1, 3, 4 };
	struct format f = usual;
	size_t i;
	int bits;

	for (i = 0; i < 3; i++) {
		for (bits = 0; bits < 4; bits++) {
			f = usual;
			f.version = versions[i];
			f.is_64 = bits & 1;
			check_format(&f);
			f.is_debug = true;
			f.aug = "";
			f.enc = 0;
			check_format(&f);
			f.arch = &ow_arch_i386;
			check_format(&f);
			f.is_debug = false;
			check_format(&f);
		}
	}
}

/* The failure of reading the FDE of a section that has been spoilt. */
static int failure(size_t off, size_t size, uint64_t value)
{
	struct ow_cfi cfi;
	struct ow_fde fde;
	uint64_t at;

	b.size = 0;
	put_cie(&usual);
	at = put_fde(&usual, 0, A, B);
	put_fde(&usual, 0, C, C_END);
	patch(&b, off, size, value);
	cfi = cfi_over(&usual, b.at, b.size);
	read_all(&cfi, false);
	return ow_cfi_entry(&cfi, &env, false, &at, &fde);
}

static void test_hostile_fields(void)
{
	/* CIE: 0 length, 4 id, 8 version, 9 "zR", 12 13 14 alignments and
	   ra, 15 16 augmentation; FDE behind: length, 4 CIE, 8 12 range, 16 */
	size_t fde = 4 + 13 + sizeof(insns);

	static const struct {
		size_t off, size; /* off: from the FDE if 100 is added */
		uint64_t value;
		int want;
	} cases[] = {
		{ 8, 1, 1, 1 },
		{ 0, 4, 0x7fffffff, -OW_EFORMAT }, /* lengths */
		{ 0, 4, 0xfffffff0, -OW_EFORMAT },
		{ 0, 4, 4, -OW_EFORMAT },
		{ 0, 4, 2, -OW_EFORMAT },
		{ 4, 4, 5, -OW_EFORMAT }, /* no CIE */
		{ 8, 1, 2, -OW_EUNSUPPORTED },
		{ 8, 1, 5, -OW_EUNSUPPORTED },
		{ 9, 1, 'x', -OW_EUNSUPPORTED },
		{ 10, 1, 'x', -OW_EUNSUPPORTED },
		{ 14, 1, 17, -OW_EFORMAT },   /* ra */
		{ 15, 1, 0x7f, -OW_EFORMAT }, /* augmentation's size */
		{ 15, 1, 0, -OW_EFORMAT },
		{ 16, 1, OW_PE_OMIT, -OW_EFORMAT },
		{ 16, 1, 0x6b, -OW_EFORMAT },
		{ 16, 1, 0x9b, -OW_EFORMAT }, /* indirect: no memory */
		{ 100, 4, 0x7fffffff, -OW_EFORMAT },
		{ 100, 4, 0xffffffff, -OW_EFORMAT }, /* 64 bits long */
		{ 100, 4, 3, -OW_EFORMAT },
		{ 100, 4, 8, -OW_EFORMAT },          /* no room for a range */
		{ 104, 4, 0x7fffffff, -OW_EFORMAT }, /* CIE pointer */
		{ 104, 4, 4, -OW_EFORMAT },          /* itself */
		{ 104, 4, 3, -OW_EFORMAT },
		{ 112, 4, 0x80000000, -OW_EFORMAT }, /* size < 0 */
		{ 116, 1, 0x7f, -OW_EFORMAT },       /* augmentation's size */
	};

	size_t i;

	for (i = 0; i < OW_ARRAY_SIZE(cases); i++) {
		size_t off = cases[i].off;
		int got = failure(off < 100 ? off : off - 100 + fde,
				  cases[i].size, cases[i].value);

		if (got != cases[i].want)
			printf("# case %zu: %d\n", i, got);
		CHECK(got == cases[i].want);
	}
}

static void test_version_4_sizes(void)
{
	struct format f = usual;
	struct ow_cfi cfi;
	struct ow_fde fde;
	uint64_t at;
	int i;

	f.version = 4;
	for (i = 0; i < 2; i++) { /* another address size; a selector */
		b.size = 0;
		put_cie(&f);
		at = put_fde(&f, 0, A, B);
		patch(&b, 12 + i, 1, 4);
		cfi = cfi_over(&f, b.at, b.size);
		CHECK(ow_cfi_entry(&cfi, &env, false, &at, &fde) ==
		      -OW_EUNSUPPORTED);
	}
}

static void test_indirect_start(void)
{
	static const uint8_t aug[] = { OW_PE_INDIRECT | OW_PE_UDATA4 };
	static const uint8_t word[] = { 0, 0x10, 0, 0, 0x55, 0x55, 0, 0 };
	struct fake_memory m = { { fake_read }, 0x555500003000, word, 8 };
	struct ow_cfi_env with = { .mem = &m.mem, .bias = 0x555500000000 };
	struct format f = usual;
	struct ow_cfi cfi;
	struct ow_fde fde;
	uint64_t at;

	f.aug_data = aug;
	f.enc = OW_PE_UDATA4;
	b.size = 0;
	put_cie(&f);
	at = put_fde(&f, 0, 0x3000, 0x3040);
	cfi = cfi_over(&f, b.at, b.size);
	CHECK(ow_cfi_entry(&cfi, &with, false, &at, &fde) == 1);
	CHECK(fde.start == A && fde.end == B);
}

static void test_empty_sections(void)
{
	const struct ow_cfi cfi = { .arch = &ow_arch_x86_64 };
	struct ow_fde fde;
	uint64_t off = 0, vaddr = 0;
	uint8_t how;

	CHECK(ow_cfi_entry(&cfi, &env, false, &off, &fde) == 0 && off == 0);
	CHECK(ow_cfi_entry(&cfi, &env, true, &off, &fde) == 0 && off == 0);
	off = 1;
	CHECK(ow_cfi_entry(&cfi, &env, false, &off, &fde) == -OW_EFORMAT);
	CHECK(off == 0);
	CHECK(ow_cfi_find(&cfi, &env, vaddr, &fde, &how) == -OW_ENOENT);
}

/* Padding in .debug_frame is stepped over; in .eh_frame it is the end. */
static void test_zero_length(void)
{
	struct format f = usual;
	struct ow_cfi cfi;
	struct ow_fde fde;
	uint64_t off = 0;
	size_t cie;

	f.is_debug = true;
	f.aug = "";
	f.enc = 0;
	b.size = 0;
	put(&b, 4, 0);
	cie = put_cie(&f);
	put_fde(&f, cie, A, B);
	cfi = cfi_over(&f, b.at, b.size);
	CHECK(ow_cfi_entry(&cfi, &env, true, &off, &fde) == 2 && off == 4);
	CHECK(ow_cfi_entry(&cfi, &env, true, &off, &fde) == 2);
	CHECK(ow_cfi_entry(&cfi, &env, true, &off, &fde) == 1);
	CHECK(fde.start == A && off == b.size);
	/* An FDE that says the padding is its CIE. */
	patch(&b, off - 2 * 8 - sizeof(insns) - 4, 4, 0);
	off = fde.off;
	CHECK(ow_cfi_entry(&cfi, &env, true, &off, &fde) == -OW_EFORMAT);
}

int main(void)
{
	static const struct test tests[] = {
		{ "augmentations", test_augmentations },
		{ "versions and lengths", test_versions_and_lengths },
		{ "hostile fields", test_hostile_fields },
		{ "version 4's sizes", test_version_4_sizes },
		{ "indirect start", test_indirect_start },
		{ "empty sections", test_empty_sections },
		{ "zero length", test_zero_length },
	};

	return test_main(tests, OW_ARRAY_SIZE(tests));
}
