// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* .eh_frame_hdr (LSB 5.0 Core, 10.6.2): the search table of .eh_frame. */
#include "cfi.h"
#include "encoding.h"
#include "err.h"

#define PAIRS_A_LINE 8 /* of a CPU's cache, in the usual encoding */

int ow_cfi_set_hdr(struct ow_cfi *cfi, const struct ow_section *hdr,
		   uint64_t *eh_frame_ret)
{
	struct ow_cursor c = { hdr->bytes, hdr->bytes + hdr->size, false };
	struct ow_encoding pe = { .word = cfi->arch->word, .data = hdr->vaddr };
	uint8_t version = ow_cursor_u8(&c);
	uint8_t ptr_enc = ow_cursor_u8(&c);
	uint8_t count_enc = ow_cursor_u8(&c);
	uint8_t table_enc = ow_cursor_u8(&c);
	uint64_t eh_frame, nr = 0;
	unsigned int size;

	if (!c.bad && version != 1)
		return -OW_EUNSUPPORTED;
	pe.enc = ptr_enc;
	pe.field = hdr->vaddr + 4;
	eh_frame = ow_encoding_read(&pe, &c, NULL);
	if (c.bad)
		return -OW_EFORMAT;
	if (count_enc != OW_PE_OMIT && table_enc != OW_PE_OMIT) {
		pe.enc = count_enc;
		pe.field = hdr->vaddr + (c.pos - hdr->bytes);
		nr = ow_encoding_read(&pe, &c, NULL);
	}
	size = ow_encoding_size(table_enc, cfi->arch->word);
	/* Only what all linkers write can be searched: entries of one size. */
	if (c.bad || size == 0 || (table_enc & OW_PE_BASE) != OW_PE_DATAREL ||
	    table_enc & OW_PE_INDIRECT)
		nr = 0;
	else if (nr > (uint64_t)(c.end - c.pos) / (2 * size))
		nr = (uint64_t)(c.end - c.pos) / (2 * size);
	cfi->hdr = *hdr;
	cfi->hdr_table = nr ? c.pos : NULL;
	cfi->hdr_nr = nr;
	cfi->hdr_enc = table_enc;
	*eh_frame_ret = eh_frame;
	return 0;
}

static bool is_usual(const struct ow_cfi *cfi)
{
	return cfi->hdr_enc == (OW_PE_DATAREL | OW_PE_SDATA4);
}

static int64_t field_sdata4(const uint8_t *table, uint64_t i)
{
	return (int32_t)ow_little_endian(table + 4 * i, 4);
}

static int64_t field_other(const struct ow_cfi *cfi, uint64_t i)
{
	unsigned int size = ow_encoding_size(cfi->hdr_enc, cfi->arch->word);
	unsigned int unused = 64 - 8 * size;
	uint64_t value = ow_little_endian(cfi->hdr_table + i * size, size);

	if (!(cfi->hdr_enc & 0x08)) /* unsigned */
		return (int64_t)value;
	return (int64_t)(value << unused) >> unused;
}

/* Field number i of the search table, two of which are a pair, as a vaddr. */
static uint64_t field(const struct ow_cfi *cfi, uint64_t i)
{
	int64_t value = is_usual(cfi) ? field_sdata4(cfi->hdr_table, i) :
					field_other(cfi, i);

	return (cfi->hdr.vaddr + (uint64_t)value) & ow_arch_mask(cfi->arch);
}

/*
 * The last pair whose function starts at or below vaddr, or the first one.
 * Without a branch on what is compared, half of which would be predicted
 * wrongly; both probes that may come next are on their way meanwhile.  Those it
 * begins with are the search before's: a guess from where vaddr should be would
 * touch more of the table.
 */
static uint64_t search_sdata4(const struct ow_cfi *cfi, uint64_t vaddr)
{
	int64_t want = (int64_t)(vaddr - cfi->hdr.vaddr);
	const uint8_t *table = cfi->hdr_table;
	uint64_t low = 0, nr = cfi->hdr_nr, half;

	for (; nr > 1; nr -= half) {
		half = nr / 2;
		if (half > PAIRS_A_LINE) {
			__builtin_prefetch(table + 8 * (low + half / 2));
			__builtin_prefetch(table + 8 * (low + half + half / 2));
		}
		low = field_sdata4(table, 2 * (low + half)) <= want ?
			      low + half :
			      low;
	}
	return low;
}

/* The same in any encoding. */
static uint64_t search_other(const struct ow_cfi *cfi, uint64_t vaddr)
{
	uint64_t low = 0, nr = cfi->hdr_nr, half;

	for (; nr > 1; nr -= half) {
		half = nr / 2;
		if (field(cfi, 2 * (low + half)) <= vaddr)
			low += half;
	}
	return low;
}

uint64_t ow_cfi_hdr_off(const struct ow_cfi *cfi, uint64_t i)
{
	return field(cfi, 2 * i + 1) - cfi->eh_frame.vaddr;
}

uint64_t ow_cfi_hdr_start(const struct ow_cfi *cfi, uint64_t i)
{
	return field(cfi, 2 * i);
}

int ow_cfi_search_hdr(const struct ow_cfi *cfi, uint64_t vaddr,
		      uint64_t *off_ret)
{
	uint64_t i;

	if (!cfi->hdr_table)
		return -OW_ENOENT;
	i = is_usual(cfi) && cfi->arch->word == 8 ? search_sdata4(cfi, vaddr) :
						    search_other(cfi, vaddr);
	if (field(cfi, 2 * i) > vaddr)
		return -OW_ENOENT;
	*off_ret = ow_cfi_hdr_off(cfi, i);
	return 0;
}
