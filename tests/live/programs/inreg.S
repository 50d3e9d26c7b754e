/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * No C library, and return addresses that aren't in memory (DW_CFA_register): as
 * in vfork(), and in a register that callees preserve.
 */
#include "ready.inc"

	.text
	.macro function name
	.globl \name
	.type \name, @function
\name:
	.cfi_startproc
	.endm
	.macro endfunction name
	.cfi_endproc
	.size \name, . - \name
	.endm

	/* In rdi, which the kernel leaves as it is. */
	function in_rdi
	say_ready
	pop %rdi
	.cfi_adjust_cfa_offset -8
	.cfi_register rip, rdi
	wait_for_ever
	endfunction in_rdi

	function saves_rbx
	push %rbx
	.cfi_adjust_cfa_offset 8
	.cfi_offset rbx, -16
	xor %ebx, %ebx
	call in_rdi
	pop %rbx
	.cfi_adjust_cfa_offset -8
	ret
	endfunction saves_rbx

	/* In rbx, while others are called. */
	function in_rbx
	pop %rbx
	.cfi_adjust_cfa_offset -8
	.cfi_register rip, rbx
	sub $16, %rsp
	.cfi_adjust_cfa_offset 16
	call saves_rbx
	add $16, %rsp
	.cfi_adjust_cfa_offset -16
	push %rbx
	.cfi_adjust_cfa_offset 8
	.cfi_offset rip, -8
	ret
	endfunction in_rbx

	function _start
	.cfi_undefined rip
	call in_rbx
	hlt
	endfunction _start
