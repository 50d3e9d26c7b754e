// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * Input: the architecture, the size of .eh_frame_hdr (2 bytes) and its bytes;
 * the rest is .eh_frame.
 */
#include "cfi.h"
#include "encoding.h"
#include "fuzz.h"

#define HDR_VADDR 0x10000
#define EH_VADDR  0x11000

static void check_find(const struct ow_cfi *cfi, uint64_t vaddr)
{
	static const struct ow_cfi_env env = { .bias = 0 };
	struct ow_fde fde;
	uint8_t how;
	int err = ow_cfi_find(cfi, &env, vaddr, &fde, &how);

	ASSERT(err == 0 || err == -OW_ENOENT || err == -OW_EFORMAT ||
	       err == -OW_EUNSUPPORTED);
	if (err)
		return;
	ASSERT(how == OW_HOW_CFI);
	ASSERT(vaddr >= fde.start && vaddr < fde.end);
	ASSERT(fde.off < cfi->eh_frame.size);
}

static void check_table(const struct ow_cfi *cfi)
{
	unsigned int size = ow_encoding_size(cfi->hdr_enc, cfi->arch->word);
	const uint8_t *end = cfi->hdr.bytes + cfi->hdr.size;
	uint64_t i, value;

	ASSERT(cfi->hdr_nr > 0 && size > 0);
	ASSERT(cfi->hdr_table >= cfi->hdr.bytes);
	ASSERT(cfi->hdr_nr <= (uint64_t)(end - cfi->hdr_table) / (2 * size));
	for (i = 0; i < cfi->hdr_nr && i < 64; i++) {
		value = 0;
		memcpy(&value, cfi->hdr_table + 2 * i * size, size);
		if (cfi->hdr_enc == (OW_PE_DATAREL | OW_PE_SDATA4))
			value = (uint64_t)(int64_t)(int32_t)value;
		value = (value + HDR_VADDR) & ow_arch_mask(cfi->arch);
		check_find(cfi, value - 1);
		check_find(cfi, value);
		check_find(cfi, value + 1);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct ow_cfi cfi = { .arch = fuzz_arch(fuzz_take(&data, &size, 1)) };
	uint64_t hdr_size = fuzz_take(&data, &size, 2);
	uint64_t eh_frame = 1;
	struct ow_section hdr;
	uint8_t *copy;
	int err;

	if (hdr_size > size)
		hdr_size = size;
	/* A copy of its own, so that reads behind its end are seen. */
	copy = malloc(hdr_size ? hdr_size : 1);
	memcpy(copy, data, hdr_size);
	hdr = (struct ow_section){ copy, hdr_size, HDR_VADDR };
	cfi.eh_frame = (struct ow_section){ data + hdr_size, size - hdr_size,
					    EH_VADDR };
	err = ow_cfi_set_hdr(&cfi, &hdr, &eh_frame);
	ASSERT(err == 0 || err == -OW_EFORMAT || err == -OW_EUNSUPPORTED);
	if (err)
		ASSERT(!cfi.hdr_table && !cfi.hdr.bytes && eh_frame == 1);
	else if (cfi.hdr_table)
		check_table(&cfi);
	check_find(&cfi, 0);
	check_find(&cfi, HDR_VADDR);
	check_find(&cfi, ~(uint64_t)0);
	free(copy);
	return 0;
}
