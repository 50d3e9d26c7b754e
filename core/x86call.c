// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#include "x86call.h"

#define CALL_REL32 0xe8
#define GROUP5     0xff
#define CALL_RM    2 /* reg of ModRM: which one of the group */

/*
 * The bytes that a ModRM with 32-bit or 64-bit addresses takes, with SIB and
 * displacement (Intel SDM, volume 2A, tables 2-2 and 2-3).  sib is the byte
 * after it.
 */
static size_t modrm_size(uint8_t modrm, uint8_t sib)
{
	unsigned int mod = modrm >> 6, rm = modrm & 7;
	size_t size = mod != 3 && rm == 4 ? 2 : 1;

	if (mod == 1)
		return size + 1;
	if (mod == 2 || (mod == 0 && (rm == 5 || (rm == 4 && (sib & 7) == 5))))
		return size + 4;
	return size;
}

bool ow_x86_ends_with_call(const uint8_t *end, size_t size)
{
	const uint8_t *at;
	size_t n;

	if (size >= 5 && end[-5] == CALL_REL32)
		return true;
	for (n = 2; n <= size && n <= OW_X86_CALL_SIZE; n++) {
		at = end - n;
		if (at[0] == GROUP5 && (at[1] >> 3 & 7) == CALL_RM &&
		    1 + modrm_size(at[1], n > 2 ? at[2] : 0) == n)
			return true;
	}
	return false;
}
