/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Calls in the machine code of x86, which 32-bit and 64-bit code encode alike.  BPF
 * programs have this, too: it asks nothing of the place it is compiled for.
 */
#ifndef OW_X86CODE_H
#define OW_X86CODE_H

#define OW_X86_CODE_SIZE 8 /* bytes that a word of code has */

/* Byte n of a word of code, counted back from its end. */
static inline __attribute__((always_inline)) unsigned int
ow_x86_byte(unsigned long long code, unsigned int n)
{
	return code >> 8 * (OW_X86_CODE_SIZE - n) & 0xff;
}

/*
 * The bytes of CALL r/m (FF /2) whose ModRM and SIB are these, with 32-bit or 64-bit
 * addresses: opcode, ModRM, SIB and displacement (Intel SDM, volume 2A, tables 2-2
 * and 2-3).
 */
static inline __attribute__((always_inline)) unsigned int
ow_x86_call_size(unsigned int modrm, unsigned int sib)
{
	unsigned int mod = modrm >> 6, rm = modrm & 7;
	unsigned int size = mod != 3 && rm == 4 ? 3 : 2;

	if (mod == 1)
		return size + 1;
	if (mod == 2 || (mod == 0 && (rm == 5 || (rm == 4 && (sib & 7) == 5))))
		return size + 4;
	return size;
}

/*
 * Return 1 if code, the eight bytes before an address as a little-endian word, can be
 * read as one that ends with a near call: CALL rel32 (E8) or CALL r/m (FF /2) (Intel
 * SDM, volume 2A, "CALL"); else 0.  Bytes that there aren't, the first ones, are zero.
 * Prefixes need no look: what follows a prefix decides.  An instruction is not told
 * from the middle of another one.
 */
static inline __attribute__((always_inline)) int
ow_x86_calls(unsigned long long code)
{
	unsigned int n, modrm;

	if (ow_x86_byte(code, 5) == 0xe8)
		return 1;
	for (n = 2; n < OW_X86_CODE_SIZE; n++) {
		modrm = ow_x86_byte(code, n - 1);
		if (ow_x86_byte(code, n) == 0xff && (modrm >> 3 & 7) == 2 &&
		    ow_x86_call_size(modrm,
				     n > 2 ? ow_x86_byte(code, n - 2) : 0) == n)
			return 1;
	}
	return 0;
}

#endif /* OW_X86CODE_H */
