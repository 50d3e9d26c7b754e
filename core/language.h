/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What an FDE says for the run time of a language: the personality routine and
 * its data (LSB 5.0 Core, 10.6.1.1.1).
 */
#ifndef OW_LANGUAGE_H
#define OW_LANGUAGE_H

#include "cfi.h"

/*
 * The addresses of both, 0 where there is none.  Return 0, or -OW_EFORMAT if
 * they can't be read.
 */
int ow_language_of(const struct ow_cfi *cfi, const struct ow_cfi_env *env,
		   const struct ow_fde *fde, uint64_t *handler_ret,
		   uint64_t *lsda_ret);

#endif /* OW_LANGUAGE_H */
