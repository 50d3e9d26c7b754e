// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#include <string.h>

#include "bytes.h"
#include "cfi.h"
#include "encoding.h"
#include "test.h"

enum {
	SECTION = 0x10000, /* vaddr of .eh_frame or .debug_frame */
	HDR = 0x20000,
	A = 0x1000, /* two functions that adjoin, a gap, a third */
	B = 0x1040,
	B_END = 0x1050,
	C = 0x1060,
	C_END = 0x1070,
	PCREL4 = OW_PE_PCREL | OW_PE_SDATA4,
};

/* How CIE and FDEs are written. */
struct format {
	const struct ow_arch *arch;
	const char *aug;
	const uint8_t *aug_data; /* behind its length, if aug has z */
	size_t aug_size;
	uint8_t version;
	uint8_t enc; /* what aug_data says, or absptr */
	bool is_debug;
	bool is_64; /* 64-bit length */
};

static const uint8_t aug_zr[] = { PCREL4 };
static const struct format usual = {
	&ow_arch_x86_64, "zR", aug_zr, 1, 1, PCREL4, false, false,
};

static const uint8_t insns[] = { 0x0c, 7, 8, 0x90, 1, 0, 0 };

static struct bytes b;
static struct ow_cfi_env env;

/* Return where the length will be patched by end_entry(). */
static size_t begin_entry(const struct format *f)
{
	if (f->is_64)
		put(&b, 4, 0xffffffff);
	put(&b, f->is_64 ? 8 : 4, 0);
	return b.size;
}

static void end_entry(const struct format *f, size_t begin)
{
	size_t size = f->is_64 ? 8 : 4;

	patch(&b, begin - size, size, b.size - begin);
}

static size_t put_cie(const struct format *f)
{
	size_t off = b.size, begin = begin_entry(f);
	size_t id_size = f->is_debug && f->is_64 ? 8 : 4;

	put(&b, id_size, f->is_debug ? ~(uint64_t)0 : 0);
	put(&b, 1, f->version);
	put_block(&b, f->aug, strlen(f->aug) + 1);
	if (f->version == 4) {
		put(&b, 1, f->arch->word);
		put(&b, 1, 0); /* segment selectors */
	}
	if (strncmp(f->aug, "eh", 2) == 0)
		put(&b, f->arch->word, 0x12345678);
	put(&b, 1, 1);                                /* code alignment */
	put(&b, 1, f->arch->word == 8 ? 0x78 : 0x7c); /* data alignment */
	put(&b, 1, f->arch->word == 8 ? 16 : 8);      /* ra */
	if (strchr(f->aug, 'z')) {
		put(&b, 1, f->aug_size);
		put_block(&b, f->aug_data, f->aug_size);
	}
	put_block(&b, insns, sizeof(insns));
	end_entry(f, begin);
	return off;
}

static size_t put_fde(const struct format *f, size_t cie, uint64_t start,
		      uint64_t end)
{
	size_t off = b.size, begin = begin_entry(f);
	unsigned int size = ow_encoding_size(f->enc, f->arch->word);
	bool pcrel = (f->enc & OW_PE_BASE) == OW_PE_PCREL;

	put(&b, f->is_debug && f->is_64 ? 8 : 4,
	    f->is_debug ? cie : b.size - cie);
	put(&b, size, start - (pcrel ? SECTION + b.size : 0));
	put(&b, size, end - start);
	if (strchr(f->aug, 'z'))
		put(&b, 1, 0);
	put_block(&b, insns, sizeof(insns));
	end_entry(f, begin);
	return off;
}

static struct ow_cfi cfi_over(const struct format *f, const uint8_t *bytes,
			      size_t size)
{
	struct ow_cfi cfi = { .arch = f->arch };
	struct ow_section sec = { bytes, size, SECTION };

	*(f->is_debug ? &cfi.debug_frame : &cfi.eh_frame) = sec;
	return cfi;
}

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

struct expected {
	uint64_t vaddr;
	uint64_t start; /* of the FDE; 0: -OW_ENOENT */
};

static const struct expected expected[] = {
	{ 0, 0 }, { A - 1, 0 },     { A, A },     { B - 1, A },
	{ B, B }, { B_END - 1, B }, { B_END, 0 }, { C - 1, 0 },
	{ C, C }, { C_END - 1, C }, { C_END, 0 }, { ~(uint64_t)0, 0 },
};

static void check_finds(const struct ow_cfi *cfi, uint8_t want_how)
{
	struct ow_fde fde;
	uint8_t how;
	size_t i;

	for (i = 0; i < OW_ARRAY_SIZE(expected); i++) {
		uint64_t start = expected[i].start;
		int err = ow_cfi_find(cfi, &env, expected[i].vaddr, &fde, &how);

		CHECK(err == (start ? 0 : -OW_ENOENT));
		CHECK(err || (fde.start == start && how == want_how));
	}
}

/* The three functions, not in order, and an index that is. */
static struct ow_fde_ref refs[3];

static void put_functions(const struct format *f)
{
	b.size = 0;
	put_cie(f);
	refs[1] = (struct ow_fde_ref){ B, put_fde(f, 0, B, B_END) };
	refs[0] = (struct ow_fde_ref){ A, put_fde(f, 0, A, B) };
	refs[2] = (struct ow_fde_ref){ C, put_fde(f, 0, C, C_END) };
	if (!f->is_debug)
		put(&b, 4, 0);
}

static void test_indexes(void)
{
	struct format debug = usual;
	struct ow_cfi cfi;
	struct ow_fde fde;
	uint8_t how;

	put_functions(&usual);
	cfi = cfi_over(&usual, b.at, b.size);
	CHECK(ow_cfi_find(&cfi, &env, A, &fde, &how) == -OW_ENOENT);
	cfi.eh_index = (struct ow_fde_index){ refs, 3 };
	check_finds(&cfi, OW_HOW_CFI);
	/* An index that points to no FDE, or out of the section. */
	refs[0].off = 0;
	CHECK(ow_cfi_find(&cfi, &env, A, &fde, &how) == -OW_EFORMAT);
	refs[0].off = ~(uint64_t)0;
	CHECK(ow_cfi_find(&cfi, &env, A, &fde, &how) == -OW_EFORMAT);

	debug.is_debug = true;
	debug.aug = "";
	debug.enc = 0;
	put_functions(&debug);
	cfi = cfi_over(&debug, b.at, b.size);
	cfi.debug_index = (struct ow_fde_index){ refs, 3 };
	check_finds(&cfi, OW_HOW_DEBUG);
}

static struct bytes hdr;

static void put_hdr(uint8_t ptr_enc, uint8_t count_enc, uint8_t table_enc,
		    uint8_t word)
{
	unsigned int size = ow_encoding_size(table_enc, word);
	size_t i;

	hdr.size = 0;
	put(&hdr, 1, 1);
	put(&hdr, 1, ptr_enc);
	put(&hdr, 1, count_enc);
	put(&hdr, 1, table_enc);
	put(&hdr, ow_encoding_size(ptr_enc, word),
	    SECTION - (ptr_enc == PCREL4 ? HDR + 4 : 0));
	put(&hdr, ow_encoding_size(count_enc, word), 3);
	for (i = 0; i < 3; i++) {
		put(&hdr, size, refs[i].start - HDR);
		put(&hdr, size, SECTION + refs[i].off - HDR);
	}
}

static int set_hdr(struct ow_cfi *cfi, const uint8_t *bytes, size_t size,
		   uint64_t *eh_frame)
{
	const struct ow_section sec = { bytes, size, HDR };

	return ow_cfi_set_hdr(cfi, &sec, eh_frame);
}

static void check_hdr(const struct format *f, uint8_t ptr_enc,
		      uint8_t count_enc, uint8_t table_enc)
{
	struct ow_cfi cfi = cfi_over(f, b.at, b.size);
	uint64_t eh_frame = 0;
	size_t size;

	put_hdr(ptr_enc, count_enc, table_enc, f->arch->word);
	CHECK(set_hdr(&cfi, hdr.at, hdr.size, &eh_frame) == 0);
	CHECK(eh_frame == SECTION && cfi.hdr_nr == 3 && cfi.hdr_table);
	check_finds(&cfi, OW_HOW_CFI);
	/* Cut: as many pairs as there are. */
	for (size = 0; size < hdr.size; size++) {
		uint8_t *bytes = exact(hdr.at, size);
		unsigned int pair =
			2 * ow_encoding_size(table_enc, f->arch->word);
		size_t head = hdr.size - 3 * pair;
		size_t nr = size < head ? 0 : (size - head) / pair;
		struct ow_fde fde;
		uint8_t how;
		int err;

		cfi = cfi_over(f, b.at, b.size);
		err = set_hdr(&cfi, bytes, size, &eh_frame);
		CHECK(err ==
		      (size < 4 + ow_encoding_size(ptr_enc, f->arch->word) ?
			       -OW_EFORMAT :
			       0));
		CHECK(cfi.hdr_nr == nr && !cfi.hdr_table == !nr);
		err = ow_cfi_find(&cfi, &env, C, &fde, &how);
		CHECK(err == -OW_ENOENT);
		free(bytes);
	}
}

static void test_hdr_tables(void)
{
	static const uint8_t tables[] = {
		OW_PE_DATAREL | OW_PE_SDATA4,
		OW_PE_DATAREL | OW_PE_SDATA8,
		OW_PE_DATAREL | OW_PE_UDATA8,
		OW_PE_DATAREL | OW_PE_ABSPTR,
	};
	struct format f = usual;
	size_t i;

	put_functions(&f);
	for (i = 0; i < OW_ARRAY_SIZE(tables); i++) {
		check_hdr(&f, PCREL4, OW_PE_UDATA4, tables[i]);
		check_hdr(&f, OW_PE_ABSPTR, OW_PE_UDATA8, tables[i]);
		check_hdr(&f, OW_PE_UDATA4, OW_PE_UDATA2, tables[i]);
	}
	/* In 32 bits, unsigned offsets reach below, too: they wrap. */
	f.arch = &ow_arch_i386;
	put_functions(&f);
	for (i = 0; i < OW_ARRAY_SIZE(tables); i++)
		check_hdr(&f, PCREL4, OW_PE_UDATA4, tables[i]);
	check_hdr(&f, PCREL4, OW_PE_UDATA4, OW_PE_DATAREL | OW_PE_UDATA4);
}

/* No error, but no table either: then an index has to do. */
static void test_hdr_that_cannot_be_searched(void)
{
	static const uint8_t tables[] = {
		OW_PE_OMIT,
		OW_PE_SDATA4, /* absolute */
		OW_PE_PCREL | OW_PE_SDATA4,
		OW_PE_DATAREL | OW_PE_ULEB128,
		OW_PE_DATAREL | OW_PE_SDATA4 | OW_PE_INDIRECT,
		0x3f,
	};
	struct ow_cfi cfi;
	uint64_t eh_frame;
	size_t i;

	put_functions(&usual);
	for (i = 0; i < OW_ARRAY_SIZE(tables); i++) {
		put_hdr(PCREL4, OW_PE_UDATA4, tables[i], 8);
		cfi = cfi_over(&usual, b.at, b.size);
		eh_frame = 0;
		CHECK(set_hdr(&cfi, hdr.at, hdr.size, &eh_frame) == 0);
		CHECK(eh_frame == SECTION && !cfi.hdr_table);
		cfi.eh_index = (struct ow_fde_index){ refs, 3 };
		check_finds(&cfi, OW_HOW_CFI);
	}
	put_hdr(PCREL4, OW_PE_OMIT, OW_PE_DATAREL | OW_PE_SDATA4, 8);
	cfi = cfi_over(&usual, b.at, b.size);
	CHECK(set_hdr(&cfi, hdr.at, hdr.size, &eh_frame) == 0);
	CHECK(!cfi.hdr_table);
}

static void test_hdr_refused(void)
{
	struct ow_cfi cfi;
	uint64_t eh_frame = 77;

	put_functions(&usual);
	cfi = cfi_over(&usual, b.at, b.size);
	put_hdr(PCREL4, OW_PE_UDATA4, OW_PE_DATAREL | OW_PE_SDATA4, 8);
	patch(&hdr, 0, 1, 2); /* version */
	CHECK(set_hdr(&cfi, hdr.at, hdr.size, &eh_frame) == -OW_EUNSUPPORTED);
	put_hdr(OW_PE_OMIT, OW_PE_UDATA4, OW_PE_DATAREL | OW_PE_SDATA4, 8);
	CHECK(set_hdr(&cfi, hdr.at, hdr.size, &eh_frame) == -OW_EFORMAT);
	put_hdr(PCREL4 | OW_PE_INDIRECT, OW_PE_UDATA4,
		OW_PE_DATAREL | OW_PE_SDATA4, 8);
	CHECK(set_hdr(&cfi, hdr.at, hdr.size, &eh_frame) == -OW_EFORMAT);
	CHECK(set_hdr(&cfi, NULL, 0, &eh_frame) == -OW_EFORMAT);
	CHECK(eh_frame == 77 && !cfi.hdr.bytes && !cfi.hdr_table);
}

static void test_hdr_hostile(void)
{
	static const uint64_t counts[] = { 4, 0x10000000, 0xffffffff };
	struct ow_cfi cfi;
	struct ow_fde fde;
	uint64_t eh_frame;
	uint8_t how;
	size_t i;

	put_functions(&usual);
	for (i = 0; i < OW_ARRAY_SIZE(counts); i++) {
		put_hdr(PCREL4, OW_PE_UDATA4, OW_PE_DATAREL | OW_PE_SDATA4, 8);
		patch(&hdr, 8, 4, counts[i]);
		cfi = cfi_over(&usual, b.at, b.size);
		CHECK(set_hdr(&cfi, hdr.at, hdr.size, &eh_frame) == 0);
		CHECK(cfi.hdr_nr == 3);
		check_finds(&cfi, OW_HOW_CFI);
	}
	/* An FDE's place: not in .eh_frame, a CIE's, another FDE's. */
	patch(&hdr, 16, 4, 0x7fffffff);
	CHECK(ow_cfi_find(&cfi, &env, A, &fde, &how) == -OW_EFORMAT);
	patch(&hdr, 16, 4, SECTION - HDR);
	CHECK(ow_cfi_find(&cfi, &env, A, &fde, &how) == -OW_EFORMAT);
	patch(&hdr, 16, 4, SECTION - 1 - HDR);
	CHECK(ow_cfi_find(&cfi, &env, A, &fde, &how) == -OW_EFORMAT);
	patch(&hdr, 16, 4, SECTION + refs[2].off - HDR);
	CHECK(ow_cfi_find(&cfi, &env, A, &fde, &how) == -OW_ENOENT);
	/* No .eh_frame at all. */
	cfi.eh_frame = (struct ow_section){ NULL, 0, SECTION };
	CHECK(ow_cfi_find(&cfi, &env, A, &fde, &how) == -OW_EFORMAT);
	CHECK(ow_cfi_find(&cfi, &env, B, &fde, &how) == -OW_EFORMAT);
}

enum {
	MANY = 600,
	MANY_SIZE = 0x40
};

/* Where function i begins: evenly, ever further apart, or in two heaps. */
static uint64_t place(int spread, uint64_t i)
{
	switch (spread) {
	case 0: return 0x100000 + i * MANY_SIZE;
	case 1: return 0x100000 + i * MANY_SIZE + 16 * i * i;
	default:
		return 0x100000 + i * MANY_SIZE +
		       (i < 5 ? 0 : (uint64_t)0x10000000);
	}
}

/* Enough that the search begins with a guess of where a function should be. */
static void test_hdr_of_many(void)
{
	struct ow_cfi cfi;
	struct ow_fde fde;
	uint64_t eh_frame, start;
	uint8_t how;
	size_t i, off;
	int spread;

	for (spread = 0; spread < 3; spread++) {
		b.size = hdr.size = 0;
		put_cie(&usual);
		put(&hdr, 4, 0x3b031b01); /* version and encodings */
		put(&hdr, 4, SECTION - (HDR + 4));
		put(&hdr, 4, MANY);
		for (i = 0; i < MANY; i++) {
			start = place(spread, i);
			off = put_fde(&usual, 0, start, start + MANY_SIZE);
			put(&hdr, 4, start - HDR);
			put(&hdr, 4, SECTION + off - HDR);
		}
		cfi = cfi_over(&usual, b.at, b.size);
		CHECK(set_hdr(&cfi, hdr.at, hdr.size, &eh_frame) == 0);
		CHECK(cfi.hdr_nr == MANY);
		for (i = 0; i < MANY; i++) {
			start = place(spread, i);
			CHECK(ow_cfi_find(&cfi, &env, start, &fde, &how) == 0);
			CHECK(fde.start == start);
			CHECK(ow_cfi_find(&cfi, &env, start + MANY_SIZE - 1,
					  &fde, &how) == 0);
			CHECK(fde.start == start);
			start += MANY_SIZE;
			if (i + 1 == MANY || start < place(spread, i + 1))
				CHECK(ow_cfi_find(&cfi, &env, start, &fde,
						  &how) == -OW_ENOENT);
		}
		start = place(spread, 0) - 1;
		CHECK(ow_cfi_find(&cfi, &env, start, &fde, &how) == -OW_ENOENT);
		CHECK(ow_cfi_find(&cfi, &env, 0, &fde, &how) == -OW_ENOENT);
		CHECK(ow_cfi_find(&cfi, &env, ~(uint64_t)0, &fde, &how) ==
		      -OW_ENOENT);
	}
}

/* What the header doesn't list, an index may; then .debug_frame. */
static void test_order_of_sources(void)
{
	struct format debug = usual;
	struct ow_cfi cfi;
	struct ow_fde fde;
	struct ow_fde_ref eh_ref;
	uint64_t eh_frame;
	static struct bytes eh;
	uint8_t how = 0;

	put_functions(&usual);
	put_hdr(PCREL4, OW_PE_UDATA4, OW_PE_DATAREL | OW_PE_SDATA4, 8);
	patch(&hdr, 8, 4, 1); /* only A is listed */
	eh_ref = refs[1];
	eh = b;
	debug.is_debug = true;
	debug.aug = "";
	debug.enc = 0;
	put_functions(&debug);
	cfi = cfi_over(&debug, b.at, b.size);
	cfi.eh_frame = (struct ow_section){ eh.at, eh.size, SECTION };
	CHECK(set_hdr(&cfi, hdr.at, hdr.size, &eh_frame) == 0);
	cfi.eh_index = (struct ow_fde_index){ &eh_ref, 1 };
	cfi.debug_index = (struct ow_fde_index){ refs, 3 };
	CHECK(ow_cfi_find(&cfi, &env, A, &fde, &how) == 0);
	CHECK(how == OW_HOW_CFI && fde.cie.section == eh.at);
	CHECK(ow_cfi_find(&cfi, &env, B, &fde, &how) == 0);
	CHECK(how == OW_HOW_CFI && fde.cie.section == eh.at);
	CHECK(ow_cfi_find(&cfi, &env, C, &fde, &how) == 0);
	CHECK(how == OW_HOW_DEBUG && fde.cie.section == b.at);
	CHECK(ow_cfi_find(&cfi, &env, C_END, &fde, &how) == -OW_ENOENT);
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
		{ "indexes", test_indexes },
		{ "hdr: tables", test_hdr_tables },
		{ "hdr: no table", test_hdr_that_cannot_be_searched },
		{ "hdr: refused", test_hdr_refused },
		{ "hdr: hostile", test_hdr_hostile },
		{ "hdr: many", test_hdr_of_many },
		{ "order of sources", test_order_of_sources },
	};

	return test_main(tests, OW_ARRAY_SIZE(tests));
}
