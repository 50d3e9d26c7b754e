// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#include "cfi.h"

#include "encoding.h"
#include "err.h"

/*
 * Instructions are run again for each look-up, and those of a CIE for each of
 * its FDEs, so that hostile ones would make work of their size squared.
 * Compilers' CIEs have some dozen bytes, and one row takes three or so.
 */
enum {
	LARGEST_CIE = 1024,
	LARGEST_FDE = 512 << 10,
};

/* The bytes of one CIE or FDE, and what all its fields are read with. */
struct entry {
	const struct ow_cfi *cfi;
	const struct ow_cfi_env *env;
	const struct ow_section *sec;
	bool is_debug;
	uint64_t off;  /* of the entry */
	uint64_t next; /* of the one behind it */
	bool is_cie;
	uint64_t cie_off;   /* an FDE's CIE */
	struct ow_cursor c; /* behind the CIE pointer */
};

static struct ow_cursor section_from(const struct ow_section *sec, uint64_t off)
{
	if (off > sec->size)
		return (struct ow_cursor){ NULL, NULL, true };
	if (sec->size == 0) /* and bytes may be NULL */
		return (struct ow_cursor){ NULL, NULL, false };
	return (struct ow_cursor){ sec->bytes + off, sec->bytes + sec->size,
				   false };
}

/*
 * Length and CIE pointer.  Return 1, 0 at the end or at a terminator, or
 * -OW_EFORMAT, after which nothing in the section can be found.
 */
static int read_entry(struct entry *e, uint64_t off)
{
	struct ow_cursor c = section_from(e->sec, off);
	unsigned int size = 4;
	uint64_t length, id_off, id;

	if (!ow_cursor_more(&c))
		return c.bad ? -OW_EFORMAT : 0;
	length = ow_cursor_uint(&c, 4);
	if (length == 0xffffffff) {
		length = ow_cursor_uint(&c, 8);
		size = 8;
	}
	if (c.bad || length > (uint64_t)(c.end - c.pos))
		return -OW_EFORMAT;
	if (length == 0 && !e->is_debug)
		return 0; /* terminator */
	id_off = c.pos - e->sec->bytes;
	c.end = c.pos + length;
	e->off = off;
	e->next = id_off + length;
	if (length == 0) {
		e->is_cie = true; /* padding, no CIE that could be used */
		e->c = (struct ow_cursor){ c.pos, c.pos, true };
		return 1;
	}
	/* In .eh_frame the pointer has 4 bytes even if the length has 8. */
	id = ow_cursor_uint(&c, e->is_debug ? size : 4);
	if (c.bad)
		return -OW_EFORMAT;
	e->is_cie = id == (!e->is_debug ? 0 :
			   size == 8    ? ~(uint64_t)0 :
					  0xffffffff);
	e->cie_off = e->is_debug ? id : id_off - id;
	e->c = c;
	return 1;
}

/* An address of 4 bytes, signed, as they are and as most compilers write them. */
static uint64_t read_sdata4(struct entry *e, bool is_pcrel)
{
	uint64_t field = e->sec->vaddr + (e->c.pos - e->sec->bytes);
	uint64_t value = (int64_t)(int32_t)ow_cursor_uint(&e->c, 4);

	if (value == 0)
		return 0;
	return (value + (is_pcrel ? field : 0)) & ow_arch_mask(e->cfi->arch);
}

static uint64_t read_other(struct entry *e, uint8_t enc)
{
	struct ow_encoding pe = {
		.enc = enc,
		.word = e->cfi->arch->word,
		.field = e->sec->vaddr + (e->c.pos - e->sec->bytes),
		.text = e->cfi->text,
		.data = e->cfi->data,
		.bias = e->env->bias,
	};

	return ow_encoding_read(&pe, &e->c, e->env->mem);
}

static uint64_t read_encoded(struct entry *e, uint8_t enc)
{
	if (enc == OW_PE_SDATA4 || enc == (OW_PE_PCREL | OW_PE_SDATA4))
		return read_sdata4(e, enc & OW_PE_PCREL);
	return read_other(e, enc);
}

/* The augmentation's letters, in order, and the data that belongs to each. */
static int read_augmentation(struct entry *e, struct ow_cie *cie,
			     struct ow_cursor aug)
{
	const uint8_t *end = NULL;
	uint64_t length;
	uint8_t letter = ow_cursor_u8(&aug), enc;

	if (letter == 'z') {
		length = ow_cursor_uleb(&e->c);
		if (e->c.bad || length > (uint64_t)(e->c.end - e->c.pos))
			return -OW_EFORMAT;
		end = e->c.pos + length;
		cie->has_aug_data = true;
		letter = ow_cursor_u8(&aug);
	}
	for (; letter; letter = ow_cursor_u8(&aug)) {
		switch (letter) {
		case 'R': cie->fde_enc = ow_cursor_u8(&e->c); break;
		case 'L': cie->lsda_enc = ow_cursor_u8(&e->c); break;
		case 'P':
			enc = ow_cursor_u8(&e->c);
			cie->handler_enc = enc;
			cie->handler = e->c.pos;
			/* Its value isn't needed here, only its size. */
			if (enc != OW_PE_OMIT)
				read_encoded(e, enc & ~OW_PE_INDIRECT);
			break;
		case 'S': cie->signal_frame = true; break;
		case 'B': /* aarch64: return address signed with key B */
		case 'G': /* aarch64: stack memory is tagged */ break;
		default: return -OW_EUNSUPPORTED;
		}
	}
	if (end) {
		if (e->c.bad || e->c.pos > end)
			return -OW_EFORMAT;
		e->c.pos = end;
	}
	return 0;
}

/* *cie is the caller's own, and may be left half read. */
static int read_cie(struct entry *e, struct ow_cie *cie)
{
	uint8_t version = ow_cursor_u8(&e->c);
	struct ow_cursor aug = e->c;
	uint64_t ra;
	int err;

	*cie = (struct ow_cie){
		.arch = e->cfi->arch,
		.section = e->sec->bytes,
		.section_size = e->sec->size,
		.section_vaddr = e->sec->vaddr,
		.text = e->cfi->text,
		.data = e->cfi->data,
		.lsda_enc = OW_PE_OMIT,
		.handler_enc = OW_PE_OMIT,
	};
	while (ow_cursor_u8(&e->c))
		;
	if (e->c.bad)
		return -OW_EFORMAT;
	/* The text may be another one when it is read again. */
	aug.end = e->c.pos;
	if (version != 1 && version != 3 && version != 4)
		return -OW_EUNSUPPORTED;
	if (version == 4 && (ow_cursor_u8(&e->c) != cie->arch->word ||
			     ow_cursor_u8(&e->c) != 0))
		return -OW_EUNSUPPORTED; /* address size, segment selectors */
	if (aug.end - aug.pos > 2 && aug.pos[0] == 'e' && aug.pos[1] == 'h') {
		/* gcc 2: a pointer follows */
		ow_cursor_skip(&e->c, cie->arch->word);
		aug.pos += 2;
	}
	cie->code_align = ow_cursor_uleb(&e->c);
	cie->data_align = ow_cursor_sleb(&e->c);
	ra = version == 1 ? ow_cursor_u8(&e->c) : ow_cursor_uleb(&e->c);
	cie->ra = ow_arch_slot(cie->arch, ra);
	err = read_augmentation(e, cie, aug);
	if (err)
		return err;
	if (e->c.bad || cie->ra == OW_SLOT_NONE)
		return -OW_EFORMAT;
	cie->insns = e->c.pos;
	cie->insns_end = e->c.end;
	return 0;
}

static int read_cie_at(const struct entry *e, struct ow_cie *ret)
{
	struct entry owner = *e;

	if (read_entry(&owner, e->cie_off) != 1 || !owner.is_cie)
		return -OW_EFORMAT;
	if (owner.next - owner.off > LARGEST_CIE)
		return -OW_EUNSUPPORTED;
	return read_cie(&owner, ret);
}

/* The CIE at cie_off, or what is remembered of it. */
static int find_cie(const struct entry *e, struct ow_cie *ret)
{
	struct ow_cie_memo *memo = e->env->memo;
	int err;

	if (memo && memo->entry && e->cie_off < e->sec->size &&
	    memo->entry == e->sec->bytes + e->cie_off) {
		*ret = memo->cie;
		return 0;
	}
	err = read_cie_at(e, ret);
	if (err || !memo)
		return err;
	memo->entry = e->sec->bytes + e->cie_off;
	memo->cie = *ret;
	return 0;
}

/* *ret may be left half read. */
static int read_fde(struct entry *e, struct ow_fde *ret)
{
	uint64_t length, skip;
	int err;

	if (e->next - e->off > LARGEST_FDE)
		return -OW_EUNSUPPORTED;
	err = find_cie(e, &ret->cie);
	if (err)
		return err;
	ret->off = e->off;
	ret->cie_entry = e->sec->bytes + e->cie_off;
	ret->start = read_encoded(e, ret->cie.fde_enc);
	length = read_encoded(e, ret->cie.fde_enc & OW_PE_FORMAT);
	ret->end = ret->start + length;
	ret->data = (struct ow_cursor){ NULL, NULL, false };
	if (ret->cie.has_aug_data) {
		skip = ow_cursor_uleb(&e->c);
		ret->data = e->c;
		if (ow_cursor_skip(&e->c, skip))
			ret->data.end = e->c.pos;
	}
	/* A length that is read as a signed number may be negative. */
	if (e->c.bad || (int64_t)length < 0 || ret->end < ret->start)
		return -OW_EFORMAT;
	ret->insns = e->c;
	return 0;
}

static struct entry entry_of(const struct ow_cfi *cfi,
			     const struct ow_cfi_env *env, bool is_debug)
{
	return (struct entry){
		.cfi = cfi,
		.env = env,
		.sec = is_debug ? &cfi->debug_frame : &cfi->eh_frame,
		.is_debug = is_debug,
	};
}

/* The entry at *off, which moves on; as ow_cfi_skip() returns. */
static int next_entry(struct entry *e, uint64_t *off)
{
	int more = read_entry(e, *off);

	*off = more > 0 ? e->next : e->sec->size;
	return more <= 0 ? more : e->is_cie ? 2 : 1;
}

int ow_cfi_skip(const struct ow_cfi *cfi, bool is_debug, uint64_t *off)
{
	struct entry e = entry_of(cfi, NULL, is_debug);

	return next_entry(&e, off);
}

int ow_cfi_entry(const struct ow_cfi *cfi, const struct ow_cfi_env *env,
		 bool is_debug, uint64_t *off, struct ow_fde *ret)
{
	struct entry e = entry_of(cfi, env, is_debug);
	int kind = next_entry(&e, off);
	int err;

	if (kind != 1)
		return kind;
	err = read_fde(&e, ret);
	return err ? err : 1;
}

bool ow_cfi_know_cie(const struct ow_cfi *cfi, struct ow_cfa *cfa,
		     struct ow_known_cie *ret)
{
	struct ow_cfi_env env = { NULL, 0, NULL };
	struct entry e = entry_of(cfi, &env, false);
	struct ow_cursor none = { NULL, NULL, false };

	if (read_cie_at(&e, &ret->memo.cie) ||
	    ow_cfa_begin(cfa, &ret->memo.cie, none, 0, 0))
		return false;
	ret->memo.entry = cfi->eh_frame.bytes;
	ow_cfa_copy_state(&ret->initial, &cfa->initial);
	return true;
}
