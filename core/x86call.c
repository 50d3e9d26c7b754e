// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#include "x86call.h"

#include "x86code.h"

bool ow_x86_ends_with_call(const uint8_t *end, size_t size)
{
	uint64_t code = 0;
	size_t n;

	for (n = 1; n <= size && n <= OW_X86_CALL_SIZE; n++)
		code |= (uint64_t)end[-(ptrdiff_t)n]
			<< 8 * (OW_X86_CODE_SIZE - n);
	return ow_x86_calls(code);
}
