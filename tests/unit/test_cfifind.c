// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* Finding the FDE of a pc: by the header, an index, and in which section. */
#include <pthread.h>
#include <stdatomic.h>

#include "cfimake.h"
#include "test.h"

#define MOST_FINDS 2000000

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

/* One that covers nothing is listed, and the function's own is behind it. */
static void test_hdr_of_empty(void)
{
	struct ow_cfi cfi;
	struct ow_fde fde;
	uint64_t eh_frame;
	uint8_t how;

	b.size = 0;
	put_cie(&usual);
	refs[0] = (struct ow_fde_ref){ A, put_fde(&usual, 0, A, A) };
	put_fde(&usual, 0, A, B);
	refs[1] = (struct ow_fde_ref){ B, put_fde(&usual, 0, B, B_END) };
	refs[2] = (struct ow_fde_ref){ C, put_fde(&usual, 0, C, C_END) };
	put_fde(&usual, 0, C_END, C_END);
	put_hdr(PCREL4, OW_PE_UDATA4, OW_PE_DATAREL | OW_PE_SDATA4, 8);
	cfi = cfi_over(&usual, b.at, b.size);
	CHECK(set_hdr(&cfi, hdr.at, hdr.size, &eh_frame) == 0);
	check_finds(&cfi, OW_HOW_CFI);
	/* Nothing of use behind it: another function's, a CIE, the end. */
	b.size = 0;
	put_cie(&usual);
	refs[0].off = put_fde(&usual, 0, A, A);
	refs[1].off = put_fde(&usual, 0, B, B);
	put_cie(&usual);
	refs[2].off = put_fde(&usual, 0, C, C);
	put_hdr(PCREL4, OW_PE_UDATA4, OW_PE_DATAREL | OW_PE_SDATA4, 8);
	cfi = cfi_over(&usual, b.at, b.size);
	CHECK(set_hdr(&cfi, hdr.at, hdr.size, &eh_frame) == 0);
	CHECK(ow_cfi_find(&cfi, &env, A, &fde, &how) == -OW_ENOENT);
	CHECK(ow_cfi_find(&cfi, &env, B, &fde, &how) == -OW_ENOENT);
	CHECK(ow_cfi_find(&cfi, &env, C, &fde, &how) == -OW_ENOENT);
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

static bool same_cursor(const struct ow_cursor *x, const struct ow_cursor *y)
{
	return x->pos == y->pos && x->end == y->end && x->bad == y->bad;
}

/* What is found is the same with and without a CIE that is known. */
static void check_known(const struct ow_cfi *cfi, const struct ow_cfi *knowing)
{
	static const uint64_t vaddrs[] = { A, B - 1, B, C_END - 1, C_END };
	struct ow_fde x, y;
	uint8_t how, how_too;
	size_t i;
	int err;

	for (i = 0; i < OW_ARRAY_SIZE(vaddrs); i++) {
		err = ow_cfi_find(cfi, &env, vaddrs[i], &x, &how);
		CHECK(ow_cfi_find(knowing, &env, vaddrs[i], &y, &how_too) ==
		      err);
		CHECK(how == how_too);
		if (err)
			continue;
		CHECK(x.start == y.start && x.end == y.end && x.off == y.off);
		CHECK(x.cie_entry == b.at && y.cie_entry == b.at);
		CHECK(x.cie.insns == y.cie.insns);
		CHECK(same_cursor(&x.data, &y.data));
		CHECK(same_cursor(&x.insns, &y.insns));
	}
}

/* Of FDEs as they should be, and with any one byte of them changed. */
static void test_known_cie(void)
{
	static const uint8_t flips[] = { 0x01, 0x02, 0x10, 0x80, 0xff };
	static struct ow_known_cie known;
	static struct ow_cfa cfa;
	struct ow_cfi cfi, knowing;
	size_t off, i;

	put_functions(&usual);
	cfi = cfi_over(&usual, b.at, b.size);
	cfi.eh_index = (struct ow_fde_index){ refs, 3 };
	CHECK(ow_cfi_know_cie(&cfi, &cfa, &known));
	CHECK(known.memo.entry == b.at && known.memo.cie.data_align == -8);
	CHECK(known.initial.cfa.off == 8 && known.initial.said == 1 << 16);
	knowing = cfi;
	knowing.known = &known;
	check_known(&cfi, &knowing);
	for (off = refs[1].off; off < b.size; off++) {
		for (i = 0; i < OW_ARRAY_SIZE(flips); i++) {
			b.at[off] ^= flips[i];
			check_known(&cfi, &knowing);
			b.at[off] ^= flips[i];
		}
	}
	/* An FDE stands first; or nothing does. */
	cfi.eh_frame.bytes += refs[1].off;
	cfi.eh_frame.size -= refs[1].off;
	CHECK(!ow_cfi_know_cie(&cfi, &cfa, &known));
	cfi.eh_frame = (struct ow_section){ NULL, 0, 0 };
	CHECK(!ow_cfi_know_cie(&cfi, &cfa, &known));
}

/* How many bytes of augmentation data an FDE says it has: none, or too many. */
struct said {
	volatile uint8_t *at;
	atomic_bool has_ended;
};

static void *write_size(void *arg)
{
	struct said *s = arg;

	while (!atomic_load(&s->has_ended)) {
		*s->at = 0;
		*s->at = 0x7f;
	}
	return NULL;
}

/* An FDE's instructions have no end before their begin, whatever is written to it. */
static void test_written(void)
{
	struct ow_cie_memo memo = { .entry = NULL };
	struct ow_cfi_env with_memo = { .memo = &memo };
	struct said s = { .has_ended = false };
	struct ow_fde_ref ref = { A, 0 };
	bool good = true;
	struct ow_cfi cfi;
	struct ow_fde fde;
	pthread_t owner;
	uint8_t how;

	b.size = 0;
	put_cie(&usual);
	ref.off = put_fde(&usual, 0, A, B);
	cfi = cfi_over(&usual, b.at, b.size);
	cfi.eh_index = (struct ow_fde_index){ &ref, 1 };
	CHECK(!ow_cfi_find(&cfi, &with_memo, A, &fde, &how));
	s.at = b.at + ref.off + 16;
	CHECK(!pthread_create(&owner, NULL, write_size, &s));
	for (int i = 0; good && i < MOST_FINDS; i++)
		good = ow_cfi_find(&cfi, &with_memo, A, &fde, &how) ||
		       fde.insns.pos <= fde.insns.end;
	CHECK(good);
	atomic_store(&s.has_ended, true);
	pthread_join(owner, NULL);
}

int main(void)
{
	static const struct test tests[] = {
		{ "indexes", test_indexes },
		{ "hdr: tables", test_hdr_tables },
		{ "hdr: no table", test_hdr_that_cannot_be_searched },
		{ "hdr: refused", test_hdr_refused },
		{ "hdr: hostile", test_hdr_hostile },
		{ "hdr: empty", test_hdr_of_empty },
		{ "hdr: many", test_hdr_of_many },
		{ "order of sources", test_order_of_sources },
		{ "a CIE known beforehand", test_known_cie },
		{ "a size that changes", test_written },
	};

	return test_main(tests, OW_ARRAY_SIZE(tests));
}
