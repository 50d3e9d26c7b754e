/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Calls in the machine code of x86, which 32-bit and 64-bit code encode alike. */
#ifndef OW_X86CALL_H
#define OW_X86CALL_H

#include "env.h"

#define OW_X86_CALL_SIZE \
	7 /* bytes of the longest: opcode, ModRM, SIB, disp32 */

/*
 * Return true if the code before end, of which size bytes may be read, can be
 * read as one that ends with a near call: CALL rel32 (E8) or CALL r/m (FF /2)
 * (Intel SDM, volume 2A, "CALL").  Prefixes need no look: what follows a prefix
 * decides.  An instruction is not told from the middle of another one.
 */
bool ow_x86_ends_with_call(const uint8_t *end, size_t size);

#endif /* OW_X86CALL_H */
