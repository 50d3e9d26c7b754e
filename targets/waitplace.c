// SPDX-License-Identifier: BSD-2-Clause
#include "waitplace.h"

#include <string.h>

#include "arch.h"
#include "env.h"

#define NARROW_END (1ULL << 32) /* of what a segment of 32 bits can reach */

/*
 * By what programs make system calls (Intel SDM, volume 2).  Where the vDSO of 32-bit
 * programs has sysenter or syscall, the kernel returns to what follows the int $0x80
 * after it (Linux, arch/x86/entry/vdso/vdso32/system_call.S).
 */
static const struct kind {
	const struct ow_arch *arch;
	uint8_t code[OW_WAITPLACE_SIZE];
} kinds[] = {
	{ &ow_arch_x86_64, { 0x0f, 0x05 } }, /* syscall */
	{ &ow_arch_i386, { 0xcd, 0x80 } },   /* int $0x80 */
};

static const struct kind *kind_of(const struct ow_arch *arch)
{
	size_t i;

	for (i = 0; i < OW_ARRAY_SIZE(kinds); i++)
		if (kinds[i].arch == arch)
			return &kinds[i];
	return NULL;
}

bool ow_waitplace_is_doubtful(const struct ow_arch *arch, uint64_t pc)
{
	return pc < NARROW_END && kind_of(arch);
}

bool ow_waitplace_makes_call(const struct ow_arch *arch, const uint8_t *code,
			     size_t size)
{
	const struct kind *k = kind_of(arch);
	size_t at;

	for (at = 0; k && at + sizeof(k->code) <= size; at += sizeof(k->code))
		if (memcmp(code + at, k->code, sizeof(k->code)) == 0)
			return true;
	return false;
}

static const struct kind *kind_at(const uint8_t *code)
{
	size_t i;

	for (i = 0; i < OW_ARRAY_SIZE(kinds); i++)
		if (memcmp(code, kinds[i].code, sizeof(kinds[i].code)) == 0)
			return &kinds[i];
	return NULL;
}

const struct ow_arch *ow_waitplace_call_arch(const uint8_t *code, size_t size)
{
	const struct kind *k, *found = NULL;
	size_t at;

	for (at = 0; at + OW_WAITPLACE_SIZE <= size; at += OW_WAITPLACE_SIZE) {
		k = kind_at(code + at);
		if (k && found && k != found)
			return NULL;
		if (k)
			found = k;
	}
	return found ? found->arch : NULL;
}
