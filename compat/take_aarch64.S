/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Taking the registers of AArch64.  A unw_context_t begins as
 * ucontext_t does; d8 to d15, which a callee saves, are kept in its reserved
 * bytes.
 */
#ifdef __aarch64__

#define UC_X        184
#define UC_SP       (UC_X + 8 * 31)
#define UC_PC       (UC_X + 8 * 32)
#define UC_RESERVED 464

	.text

	.globl	_Uaarch64_getcontext
	.type	_Uaarch64_getcontext, %function
	.p2align 4
_Uaarch64_getcontext:
	.cfi_startproc
	stp	x0, x1, [x0, UC_X]
	stp	x2, x3, [x0, UC_X + 16]
	stp	x4, x5, [x0, UC_X + 32]
	stp	x6, x7, [x0, UC_X + 48]
	stp	x8, x9, [x0, UC_X + 64]
	stp	x10, x11, [x0, UC_X + 80]
	stp	x12, x13, [x0, UC_X + 96]
	stp	x14, x15, [x0, UC_X + 112]
	stp	x16, x17, [x0, UC_X + 128]
	stp	x18, x19, [x0, UC_X + 144]
	stp	x20, x21, [x0, UC_X + 160]
	stp	x22, x23, [x0, UC_X + 176]
	stp	x24, x25, [x0, UC_X + 192]
	stp	x26, x27, [x0, UC_X + 208]
	stp	x28, x29, [x0, UC_X + 224]
	mov	x1, sp
	str	x30, [x0, UC_X + 240]
	str	x1, [x0, UC_SP]
	str	x30, [x0, UC_PC]
	add	x1, x0, UC_RESERVED
	stp	d8, d9, [x1]
	stp	d10, d11, [x1, 16]
	stp	d12, d13, [x1, 32]
	stp	d14, d15, [x1, 48]
	mov	x0, 0
	ret
	.cfi_endproc
	.size	_Uaarch64_getcontext, . - _Uaarch64_getcontext

	.globl	unw_backtrace
	.type	unw_backtrace, %function
	.weak	backtrace
	.type	backtrace, %function
	.p2align 4
unw_backtrace:
backtrace:
	.cfi_startproc
	sub	sp, sp, 128
	.cfi_adjust_cfa_offset 128
	add	x3, sp, 128
	stp	x30, x3, [sp]
	stp	x29, x19, [sp, 16]
	stp	x20, x21, [sp, 32]
	stp	x22, x23, [sp, 48]
	stp	x24, x25, [sp, 64]
	stp	x26, x27, [sp, 80]
	str	x28, [sp, 96]
	str	x30, [sp, 112]
	.cfi_rel_offset 30, 112
	mov	x2, sp
	bl	ow_trace_begin
	ldr	x30, [sp, 112]
	.cfi_restore 30
	add	sp, sp, 128
	.cfi_adjust_cfa_offset -128
	ret
	.cfi_endproc
	.size	unw_backtrace, . - unw_backtrace
	.size	backtrace, . - backtrace

#endif

	.section .note.GNU-stack, "", %progbits
