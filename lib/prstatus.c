// SPDX-License-Identifier: BSD-2-Clause
#include "prstatus.h"

#include <string.h>

#define SKIP OW_SLOT_NONE

/*
 * Slots in the order of the kernel's register set (Linux,
 * arch/x86/include/asm/user_64.h, user_32.h;
 * arch/arm64/include/uapi/asm/ptrace.h).
 */
static const uint8_t x86_64[27] = {
	/* r15 r14 r13 r12 rbp rbx r11 r10 r9 r8 */
	15, 14, 13, 12, 6, 3, 11, 10, 9, 8,
	/* rax rcx rdx rsi rdi orig_rax rip cs eflags rsp ss */
	0, 2, 1, 4, 5, SKIP, 16, SKIP, SKIP, 7, SKIP,
	/* fs_base gs_base ds es fs gs */
	SKIP, SKIP, SKIP, SKIP, SKIP, SKIP
};

#define I386_GS 10
#define I386_CS 13

/* A selector: a descriptor's number above the table's bit, and privileges. */
#define SELECTOR_IS_LOCAL 4
#define SELECTOR_SHIFT    3

static const uint8_t i386[17] = {
	/* ebx ecx edx esi edi ebp eax ds es fs gs */
	3, 1, 2, 6, 7, 5, 0, SKIP, SKIP, SKIP, SKIP,
	/* orig_eax eip cs eflags esp ss */
	SKIP, 8, SKIP, SKIP, 4, SKIP
};

static const uint8_t aarch64[34] = { 0,  1,  2,  3,  4,  5,  6,   7,  8,
				     9,  10, 11, 12, 13, 14, 15,  16, 17,
				     18, 19, 20, 21, 22, 23, 24,  25, 26,
				     27, 28, 29, 30, 31, 32, SKIP };

static const struct layout {
	const struct ow_arch *arch;
	const uint8_t *slots;
	uint8_t nr;
	int8_t tp; /* index of the thread pointer, or -1 */
	/* The word that tells the mode, its bits that do, and user mode's. */
	uint8_t mode, mode_bits, user;
} layouts[] = {
	{ &ow_arch_x86_64, x86_64, sizeof(x86_64), 21, 17, 3, 3 },     /* cs */
	{ &ow_arch_i386, i386, sizeof(i386), -1, I386_CS, 3, 3 },      /* cs */
	{ &ow_arch_aarch64, aarch64, sizeof(aarch64), -1, 33, 12, 0 }, /* EL */
};

static const struct layout *layout_of(const struct ow_arch *arch)
{
	const struct layout *l = layouts;

	while (l->arch != arch)
		l++;
	return l;
}

/* Word number i; both we and all targets are little-endian. */
static uint64_t word(const struct ow_arch *arch, const uint8_t *bytes, size_t i)
{
	uint64_t value = 0;

	memcpy(&value, bytes + i * arch->word, arch->word);
	return value;
}

size_t ow_prstatus_size(const struct ow_arch *arch)
{
	return (size_t)layout_of(arch)->nr * arch->word;
}

const struct ow_arch *ow_prstatus_arch(size_t size)
{
	size_t i;

	for (i = 0; i < OW_ARRAY_SIZE(layouts); i++)
		if (size == ow_prstatus_size(layouts[i].arch))
			return layouts[i].arch;
	return NULL;
}

bool ow_prstatus_regs(const struct ow_arch *arch, const uint8_t *bytes,
		      size_t size, struct ow_regs *ret)
{
	const struct layout *l = layout_of(arch);
	size_t i;

	if (size < ow_prstatus_size(arch))
		return false;
	memset(ret, 0, sizeof(*ret));
	for (i = 0; i < l->nr; i++)
		if (l->slots[i] != SKIP)
			ow_regs_set(ret, l->slots[i], word(arch, bytes, i));
	return true;
}

uint64_t ow_prstatus_tp(const struct ow_arch *arch, const uint8_t *bytes,
			size_t size)
{
	const struct layout *l = layout_of(arch);

	if (l->tp < 0 || size < ow_prstatus_size(arch))
		return 0;
	return word(arch, bytes, l->tp);
}

unsigned int ow_prstatus_tls(const struct ow_arch *arch, const uint8_t *bytes,
			     size_t size)
{
	uint16_t gs;

	if (arch != &ow_arch_i386 || size < ow_prstatus_size(arch))
		return 0;
	gs = (uint16_t)word(arch, bytes, I386_GS);
	return gs & SELECTOR_IS_LOCAL ? 0 : gs >> SELECTOR_SHIFT;
}

bool ow_prstatus_has_address(const struct ow_arch *arch, const uint8_t *bytes,
			     size_t size)
{
	return arch != &ow_arch_i386 || size < ow_prstatus_size(arch) ||
	       !(word(arch, bytes, I386_CS) & SELECTOR_IS_LOCAL);
}

bool ow_prstatus_is_user(const struct ow_arch *arch, const uint8_t *bytes,
			 size_t size)
{
	const struct layout *l = layout_of(arch);

	return size >= ow_prstatus_size(arch) &&
	       (word(arch, bytes, l->mode) & l->mode_bits) == l->user;
}

int ow_prstatus_offset(const struct ow_arch *arch, unsigned int slot)
{
	const struct layout *l = layout_of(arch);
	int i;

	for (i = 0; i < l->nr; i++)
		if (l->slots[i] != SKIP && l->slots[i] == slot)
			return i * arch->word;
	return -1;
}
