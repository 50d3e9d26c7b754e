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
	.size \name, 16
	.endm

	function inner, 0x180
	function asm_exc_divide_error, 0x190
#ifdef __aarch64__
	/* A rule that asks for what a frame pointer alone doesn't tell. */
	.cfi_sections .debug_frame
	.cfi_startproc
	.cfi_def_cfa sp, 32
	.cfi_offset x29, -32
	.cfi_offset x30, -24
	.org 0x1a0
	.cfi_endproc
#endif
	function outer, 0x1a0
	.org 0x1b0
	.section .note.GNU-stack,"",@progbits
