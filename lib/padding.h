/* SPDX-License-Identifier: BSD-2-Clause */
/* Telling the padding between functions from code. */
#ifndef OW_PADDING_H
#define OW_PADDING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ow_arch;

/*
 * Are these bytes, which no CFI covers, only what compilers and linkers fill
 * gaps with: no-ops, traps, zeros?  A long run is never taken for padding.
 */
bool ow_is_padding(const struct ow_arch *arch, const uint8_t *bytes,
		   size_t size);

#endif /* OW_PADDING_H */
