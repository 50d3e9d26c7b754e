// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* The FDE of a vaddr: by the search table, or else by an index. */
#include "cfi.h"
#include "encoding.h"
#include "err.h"

/* Bytes of an FDE that is as most are, up to its augmentation data. */
#define USUAL_HEAD 17

/*
 * The FDE at off of .eh_frame, if it is as most are: of the CIE that is
 * remembered, with addresses of 4 bytes relative to where they stand, and with
 * augmentation data, whose length is one byte.  Else false.
 */
static bool read_usual(const struct ow_cfi *cfi, const struct ow_cie_memo *memo,
		       uint64_t off, struct ow_fde *ret)
{
	const struct ow_section *sec = &cfi->eh_frame;
	const uint8_t *at, *end;
	uint64_t length, back;
	uint8_t skip;

	if (!memo || !memo->entry || cfi->arch->word != 8 ||
	    memo->cie.fde_enc != (OW_PE_PCREL | OW_PE_SDATA4) ||
	    !memo->cie.has_aug_data || off > sec->size ||
	    sec->size - off < USUAL_HEAD)
		return false;
	at = sec->bytes + off;
	length = ow_little_endian(at, 4);
	back = ow_little_endian(at + 4, 4);
	if (length < USUAL_HEAD - 4 || length > sec->size - off - 4 ||
	    length == 0xffffffff || back == 0 || back > off + 4 ||
	    at + 4 - back != memo->entry)
		return false;
	end = at + 4 + length;
	ret->start = (int32_t)ow_little_endian(at + 8, 4);
	length = (int64_t)(int32_t)ow_little_endian(at + 12, 4);
	skip = at[USUAL_HEAD - 1];
	ow_keep(skip);
	/* 0 is no address; and what is odd is told of elsewhere. */
	if (ret->start == 0 || (int64_t)length < 0 || skip >= 0x80 ||
	    skip > end - at - USUAL_HEAD)
		return false;
	ret->start += sec->vaddr + off + 8;
	ret->end = ret->start + length;
	if (ret->end < ret->start)
		return false;
	ret->off = off;
	ret->cie_entry = memo->entry;
	ret->cie = memo->cie;
	at += USUAL_HEAD;
	ret->data = (struct ow_cursor){ at, at + skip, false };
	ret->insns = (struct ow_cursor){ ret->data.end, end, false };
	return true;
}

/* *off moves to the next entry. */
static int fde_at(const struct ow_cfi *cfi, const struct ow_cfi_env *env,
		  bool is_debug, uint64_t *off, uint64_t vaddr,
		  struct ow_fde *ret)
{
	const struct ow_known_cie *known = cfi->known;
	int kind = 1;

	if (!is_debug &&
	    (read_usual(cfi, known ? &known->memo : NULL, *off, ret) ||
	     read_usual(cfi, env->memo, *off, ret)))
		*off = (uint64_t)(ret->insns.end - cfi->eh_frame.bytes);
	else
		kind = ow_cfi_entry(cfi, env, is_debug, off, ret);
	if (kind != 1)
		return kind < 0 ? kind : -OW_EFORMAT;
	return vaddr - ret->start < ret->end - ret->start ? 0 : -OW_ENOENT;
}

/*
 * The table has but one of the FDEs that begin at a place, and that may be one
 * of no bytes, with the function's own right behind it: rustc's libLLVM, which
 * BOLT has rewritten, has such.
 */
static int find_by_hdr(const struct ow_cfi *cfi, const struct ow_cfi_env *env,
		       uint64_t vaddr, struct ow_fde *ret)
{
	uint64_t off;
	int err = ow_cfi_search_hdr(cfi, vaddr, &off);

	if (err)
		return err;
	err = fde_at(cfi, env, false, &off, vaddr, ret);
	if (err == -OW_ENOENT && ret->end == ret->start)
		err = fde_at(cfi, env, false, &off, vaddr, ret) ? -OW_ENOENT :
								  0;
	return err;
}

static int find_by_index(const struct ow_cfi *cfi, const struct ow_cfi_env *env,
			 bool is_debug, uint64_t vaddr, struct ow_fde *ret)
{
	const struct ow_fde_index *index = is_debug ? &cfi->debug_index :
						      &cfi->eh_index;
	size_t low = 0, high = index->nr, mid;
	uint64_t off;

	while (low < high) {
		mid = low + (high - low) / 2;
		if (index->refs[mid].start <= vaddr)
			low = mid + 1;
		else
			high = mid;
	}
	if (low == 0)
		return -OW_ENOENT;
	off = index->refs[low - 1].off;
	return fde_at(cfi, env, is_debug, &off, vaddr, ret);
}

int ow_cfi_find(const struct ow_cfi *cfi, const struct ow_cfi_env *env,
		uint64_t vaddr, struct ow_fde *ret, uint8_t *how_ret)
{
	int err;

	*how_ret = OW_HOW_CFI;
	err = find_by_hdr(cfi, env, vaddr, ret);
	if (err == -OW_ENOENT)
		err = find_by_index(cfi, env, false, vaddr, ret);
	if (err != -OW_ENOENT)
		return err;
	*how_ret = OW_HOW_DEBUG;
	return find_by_index(cfi, env, true, vaddr, ret);
}
