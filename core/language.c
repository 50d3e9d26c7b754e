// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#include "language.h"

#include "encoding.h"
#include "err.h"

/* One encoded pointer of the FDE or its CIE, which lie in one section. */
static uint64_t read_pointer(const struct ow_cfi *cfi,
			     const struct ow_cfi_env *env,
			     const struct ow_fde *fde, uint8_t enc,
			     struct ow_cursor *c)
{
	const struct ow_cie *cie = &fde->cie;
	struct ow_encoding pe = {
		.enc = enc,
		.word = cfi->arch->word,
		.field = cie->section_vaddr + (c->pos - cie->section),
		.text = cfi->text,
		.data = cfi->data,
		.func = fde->start,
		.bias = env->bias,
	};
	uint64_t vaddr;

	if (enc == OW_PE_OMIT || c->pos == c->end)
		return 0;
	vaddr = ow_encoding_read(&pe, c, env->mem);
	return vaddr ? vaddr + env->bias : 0;
}

int ow_language_of(const struct ow_cfi *cfi, const struct ow_cfi_env *env,
		   const struct ow_fde *fde, uint64_t *handler_ret,
		   uint64_t *lsda_ret)
{
	struct ow_cursor handler = { fde->cie.handler, fde->cie.insns, false };
	struct ow_cursor data = fde->data;

	*handler_ret = *lsda_ret = 0;
	if (fde->cie.handler && fde->cie.handler_enc != OW_PE_OMIT)
		*handler_ret = read_pointer(cfi, env, fde, fde->cie.handler_enc,
					    &handler);
	if (data.pos)
		*lsda_ret =
			read_pointer(cfi, env, fde, fde->cie.lsda_enc, &data);
	return handler.bad || data.bad ? -OW_EFORMAT : 0;
}
