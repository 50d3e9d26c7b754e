/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A function between others that only .debug_frame knows: a compact table, which
 * is made from .eh_frame, has nothing for it.
 */
	.text
	.globl between
	.type between, @function
	.cfi_sections .debug_frame
between:
	.cfi_startproc
	sub $24, %rsp
	.cfi_adjust_cfa_offset 24
	call stay
	add $24, %rsp
	.cfi_adjust_cfa_offset -24
	ret
	.cfi_endproc
	.size between, . - between
	.section .note.GNU-stack, "", @progbits
