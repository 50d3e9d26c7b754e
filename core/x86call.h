/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Calls in the machine code of x86, as architectures tell of them (arch.h). */
#ifndef OW_X86CALL_H
#define OW_X86CALL_H

#include "env.h"

#define OW_X86_CALL_SIZE \
	7 /* bytes of the longest: opcode, ModRM, SIB, disp32 */

/*
 * Return true if the code before end, of which size bytes may be read, can be
 * read as one that ends with a near call (x86code.h).
 */
bool ow_x86_ends_with_call(const uint8_t *end, size_t size);

#endif /* OW_X86CALL_H */
