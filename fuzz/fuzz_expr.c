// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * Input: the architecture (bit 4: push the CFA), which registers are known,
 * two values for registers and CFA; then the expression.
 */
#include "expr.h"
#include "fuzz.h"

/* A memory with something everywhere but in every fourth page. */
static int read_made_up(const struct ow_memory *mem, uint64_t addr, void *buf,
			size_t size)
{
	uint64_t value = addr * 0x9e3779b97f4a7c15ULL;

	(void)mem;
	ASSERT(size > 0 && size <= sizeof(value));
	if ((addr >> 12 & 3) == 3)
		return -OW_EFAULT;
	memcpy(buf, &value, size);
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct ow_memory mem = { read_made_up };
	static struct ow_expr x;
	uint8_t first = fuzz_take(&data, &size, 1);
	const struct ow_arch *arch = fuzz_arch(first);
	uint64_t mask = ow_arch_mask(arch);
	bool push = first & 0x10;
	struct ow_regs regs = { .known = fuzz_take(&data, &size, 6) };
	uint64_t seed = fuzz_take(&data, &size, 8);
	uint64_t value = 1, again = 2;
	unsigned int i;
	int err;

	for (i = 0; i < arch->nr_regs; i++)
		regs.val[i] = (seed * (2 * i + 1)) & mask;
	x = (struct ow_expr){
		.arch = arch,
		.regs = &regs,
		.mem = &mem,
		.cfa = fuzz_take(&data, &size, 8) & mask,
		.has_cfa = push,
		.bias = 0x5000,
		.left = UINT32_MAX,
	};
	err = ow_expr_run(&x, data, size, push, &value);
	ASSERT(fuzz_is_result(err) && err != -OW_ENOENT);
	ASSERT(x.depth <= OW_EXPR_DEPTH);
	if (err) {
		ASSERT(value == 1);
		return 0;
	}
	ASSERT(x.depth > 0);
	ASSERT((value & ~mask) == 0);
	for (i = 0; i < x.depth; i++)
		ASSERT((x.stack[i] & ~mask) == 0);
	/* Again, on a stack that isn't clear. */
	memset(x.stack, 0x5a, sizeof(x.stack));
	ASSERT(ow_expr_run(&x, data, size, push, &again) == 0);
	ASSERT(again == value);
	return 0;
}
