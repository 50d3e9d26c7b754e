// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#include "memory.h"

#include "err.h"

int ow_memory_word(const struct ow_memory *mem, uint64_t addr, size_t size,
		   uint64_t *ret)
{
	if (!mem || !mem->read || size > sizeof(*ret))
		return -OW_EFAULT;
	*ret = 0;
	return mem->read(mem, addr, ret, size);
}
