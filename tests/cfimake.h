/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Sections of CIEs and FDEs made by hand. */
#ifndef TESTS_CFIMAKE_H
#define TESTS_CFIMAKE_H

#include <string.h>

#include "bytes.h"
#include "cfi.h"
#include "encoding.h"

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
static struct ow_cfi_env env __attribute__((unused));

/* Return where the length will be patched by end_entry(). */
static inline size_t begin_entry(const struct format *f)
{
	if (f->is_64)
		put(&b, 4, 0xffffffff);
	put(&b, f->is_64 ? 8 : 4, 0);
	return b.size;
}

static inline void end_entry(const struct format *f, size_t begin)
{
	size_t size = f->is_64 ? 8 : 4;

	patch(&b, begin - size, size, b.size - begin);
}

static inline size_t put_cie(const struct format *f)
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

static inline size_t put_fde(const struct format *f, size_t cie, uint64_t start,
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

static inline struct ow_cfi cfi_over(const struct format *f,
				     const uint8_t *bytes, size_t size)
{
	struct ow_cfi cfi = { .arch = f->arch };
	struct ow_section sec = { bytes, size, SECTION };

	*(f->is_debug ? &cfi.debug_frame : &cfi.eh_frame) = sec;
	return cfi;
}

#endif
