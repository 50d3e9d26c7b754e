// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#include "memory.h"

#include "err.h"

int ow_memory_word(const struct ow_memory *mem, uint64_t addr, size_t size,
		   uint64_t *ret)
{
	uint8_t bytes[8];
	uint64_t value = 0;

	if (!mem || !mem->read || size > sizeof(bytes))
		return -OW_EFAULT;
	if (mem->read(mem, addr, bytes, size))
		return -OW_EFAULT;
	while (size-- > 0)
		value = value << 8 | bytes[size];
	*ret = value;
	return 0;
}
