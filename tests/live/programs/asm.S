/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * No C library, and rules that compilers rarely or never write: the CFA in a
 * register of its own, by an expression, read from memory; a return address
 * moved elsewhere.
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

	function stay
	say_ready
1:
#ifndef SPIN
	mov $34, %eax
	syscall
#endif
	jmp 1b
	endfunction stay

	/* The CFA is in r12; rsp says nothing. */
	function cfa_in_r12
	push %r12
	.cfi_adjust_cfa_offset 8
	.cfi_offset r12, -16
	lea 16(%rsp), %r12
	.cfi_def_cfa r12, 0
	sub %rdi, %rsp
	call stay
	lea -16(%r12), %rsp
	.cfi_def_cfa rsp, 16
	pop %r12
	.cfi_adjust_cfa_offset -8
	ret
	endfunction cfa_in_r12

	/* DW_CFA_def_cfa_expression: DW_OP_breg3 (rbx) 8; DW_OP_deref; DW_OP_lit16;
	   DW_OP_plus. */
	function cfa_by_expression
	push %rbx
	.cfi_adjust_cfa_offset 8
	.cfi_offset rbx, -16
	mov %rsp, %rax
	sub $64, %rsp
	.cfi_adjust_cfa_offset 64
	mov %rax, 24(%rsp)
	lea 16(%rsp), %rbx
	.cfi_escape 0x0f, 5, 0x73, 8, 0x06, 0x40, 0x22
	sub $4000, %rsp
	mov $512, %edi
	call cfa_in_r12
	add $4064, %rsp
	.cfi_def_cfa rsp, 16
	pop %rbx
	.cfi_adjust_cfa_offset -8
	ret
	endfunction cfa_by_expression

	/* The return address was popped, and put where rbp points to:
	   DW_CFA_expression rip, DW_OP_breg6 (rbp) 0. */
	function ra_elsewhere
	push %rbp
	.cfi_adjust_cfa_offset 8
	.cfi_offset rbp, -16
	mov 8(%rsp), %rax
	sub $128, %rsp
	.cfi_adjust_cfa_offset 128
	mov %rax, 40(%rsp)
	movq $0, 136(%rsp)
	lea 40(%rsp), %rbp
	.cfi_escape 0x10, 16, 2, 0x76, 0
	call cfa_by_expression
	mov (%rbp), %rax
	mov %rax, 136(%rsp)
	.cfi_offset rip, -8
	add $128, %rsp
	.cfi_adjust_cfa_offset -128
	pop %rbp
	.cfi_adjust_cfa_offset -8
	ret
	endfunction ra_elsewhere

	/* DW_CFA_remember_state and restore_state around an early exit. */
	function two_exits
	sub $24, %rsp
	.cfi_adjust_cfa_offset 24
	test %rsp, %rsp
	jnz 1f
	.cfi_remember_state
	add $24, %rsp
	.cfi_adjust_cfa_offset -24
	ret
	.cfi_restore_state
1:	call ra_elsewhere
	add $24, %rsp
	.cfi_adjust_cfa_offset -24
	ret
	endfunction two_exits

	/* DW_CFA_def_cfa_expression: DW_OP_breg3 (rbx) -16; DW_OP_lit16; DW_OP_plus. */
	function cfa_by_arithmetic
	push %rbx
	.cfi_adjust_cfa_offset 8
	.cfi_offset rbx, -16
	lea 16(%rsp), %rbx
	.cfi_escape 0x0f, 4, 0x73, 0x70, 0x40, 0x22
	call two_exits
	.cfi_def_cfa rsp, 16
	pop %rbx
	.cfi_adjust_cfa_offset -8
	ret
	endfunction cfa_by_arithmetic

	function _start
	.cfi_undefined rip
	call cfa_by_arithmetic
	hlt
	endfunction _start
