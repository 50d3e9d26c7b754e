// SPDX-License-Identifier: BSD-2-Clause
#include "padding.h"

#include <string.h>

#include "arch.h"

#define LONGEST 63 /* functions are aligned to 64 bytes at most */

/* Those of one byte; most padding is a run of one of them. */
static bool is_x86_byte(uint8_t byte)
{
	return byte == 0x90 || byte == 0xcc || byte == 0x00;
}

/*
 * Bytes of the longer x86 no-op that stands here, or 0.  (Intel SDM 2B, NOP;
 * GNU as tc-i386.c fills with these and with lea of a register to itself.)
 */
static size_t x86_filler(const uint8_t *p, size_t left)
{
	static const uint8_t modrm_size[][2] = {
		{ 0x00, 3 }, { 0x40, 4 }, { 0x44, 5 }, { 0x80, 7 }, { 0x84, 8 },
	};
	size_t i = 0, j;

	while (i < left && (p[i] == 0x66 || p[i] == 0x2e))
		i++;
	if (i == left)
		return 0;
	if (p[i] == 0x90)
		return i + 1;
	if (left - i < 3 || p[i] != 0x0f || p[i + 1] != 0x1f)
		return 0;
	for (j = 0; j < OW_ARRAY_SIZE(modrm_size); j++)
		if (p[i + 2] == modrm_size[j][0])
			return i + modrm_size[j][1];
	return 0;
}

static size_t aarch64_filler(const uint8_t *p, size_t left)
{
	static const uint8_t nop[4] = { 0x1f, 0x20, 0x03, 0xd5 };
	static const uint8_t udf[4] = { 0, 0, 0, 0 };

	if (left < 4)
		return *p == 0;
	return memcmp(p, nop, 4) == 0 || memcmp(p, udf, 4) == 0 ? 4 : 0;
}

bool ow_is_padding(const struct ow_arch *arch, const uint8_t *bytes,
		   size_t size)
{
	size_t i = 0, n;

	if (size > LONGEST)
		return false;
	while (i < size) {
		if (arch != &ow_arch_aarch64 && is_x86_byte(bytes[i])) {
			i++;
			continue;
		}
		n = arch == &ow_arch_aarch64 ?
			    aarch64_filler(bytes + i, size - i) :
			    x86_filler(bytes + i, size - i);
		if (n == 0 || n > size - i)
			return false;
		i += n;
	}
	return true;
}
