/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* A kernel's file, as far as a dump made by hand needs one: names and places. */
	.text
	.globl _start
_start:
	.macro function name, at
	.org \at
	.globl \name
	.type \name, @function
\name:
	push %rbp
	mov %rsp, %rbp
	.size \name, 16
	.endm

	function inner, 0x180
	function asm_exc_divide_error, 0x190
	function outer, 0x1a0
	.org 0x1b0
	.section .note.GNU-stack,"",@progbits
