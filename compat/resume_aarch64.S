/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Setting the registers of AArch64.  A unw_context_t begins as
 * ucontext_t does; d8 to d15, which a callee saves, are kept in its reserved
 * bytes.
 */
#ifdef __aarch64__

#define UC_X        184
#define UC_SP       (UC_X + 8 * 31)
#define UC_PC       (UC_X + 8 * 32)
#define UC_RESERVED 464
#define UC_SIGFRAME 128
#define NR_rt_sigreturn 139

	.text

	.globl	ow_machine_resume
	.hidden	ow_machine_resume
	.type	ow_machine_resume, %function
	.p2align 4
ow_machine_resume:
	.cfi_startproc
	add	x1, x0, UC_RESERVED
	ldp	d8, d9, [x1]
	ldp	d10, d11, [x1, 16]
	ldp	d12, d13, [x1, 32]
	ldp	d14, d15, [x1, 48]
	ldp	x2, x3, [x0, UC_X + 16]
	ldp	x4, x5, [x0, UC_X + 32]
	ldp	x6, x7, [x0, UC_X + 48]
	ldp	x8, x9, [x0, UC_X + 64]
	ldp	x10, x11, [x0, UC_X + 80]
	ldp	x12, x13, [x0, UC_X + 96]
	ldp	x14, x15, [x0, UC_X + 112]
	ldp	x18, x19, [x0, UC_X + 144]
	ldp	x20, x21, [x0, UC_X + 160]
	ldp	x22, x23, [x0, UC_X + 176]
	ldp	x24, x25, [x0, UC_X + 192]
	ldp	x26, x27, [x0, UC_X + 208]
	ldp	x28, x29, [x0, UC_X + 224]
	ldr	x30, [x0, UC_X + 240]
	ldr	x17, [x0, UC_SP]
	ldr	x16, [x0, UC_PC]
	ldp	x0, x1, [x0, UC_X]
	/* From here on a signal may overwrite the context. */
	mov	sp, x17
	br	x16
	.cfi_endproc
	.size	ow_machine_resume, . - ow_machine_resume

	.globl	ow_machine_sigreturn
	.hidden	ow_machine_sigreturn
	.type	ow_machine_sigreturn, %function
	.p2align 4
ow_machine_sigreturn:
	.cfi_startproc
	sub	x0, x0, UC_SIGFRAME
	mov	sp, x0
	mov	x8, NR_rt_sigreturn
	svc	0
	.cfi_endproc
	.size	ow_machine_sigreturn, . - ow_machine_sigreturn

#endif

	.section .note.GNU-stack, "", %progbits
