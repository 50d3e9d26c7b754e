/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Setting the registers of x86-64.  Offsets of ucontext_t: see
 * struct ow_machine's gregs, and glibc's sys/ucontext.h for the floating-point
 * state (fpregs, a pointer to what follows uc_sigmask).
 */
#ifdef __x86_64__

#define UC_R8     40
#define UC_R9     48
#define UC_R10    56
#define UC_R11    64
#define UC_R12    72
#define UC_R13    80
#define UC_R14    88
#define UC_R15    96
#define UC_RDI    104
#define UC_RSI    112
#define UC_RBP    120
#define UC_RBX    128
#define UC_RDX    136
#define UC_RAX    144
#define UC_RCX    152
#define UC_RSP    160
#define UC_RIP    168
#define UC_FPREGS 224
#define FP_CWD    0
#define FP_MXCSR  24
#define RED_ZONE  128
#define NR_rt_sigreturn 15

	.text

/*
 * void ow_machine_resume(const unw_context_t *uc): rip and rdi are put where the
 * new stack has its top, below the red zone, so that no register is left over.
 * Once rsp has changed, a signal may overwrite all that lies below it, the
 * context among it.
 */
	.globl	ow_machine_resume
	.hidden	ow_machine_resume
	.type	ow_machine_resume, @function
	.globl	_Ux86_64_setcontext
	.type	_Ux86_64_setcontext, @function
	.p2align 4
ow_machine_resume:
_Ux86_64_setcontext:
	.cfi_startproc
	endbr64
	mov	UC_FPREGS(%rdi), %rax
	test	%rax, %rax
	jz	1f
	fldcw	FP_CWD(%rax)
	ldmxcsr	FP_MXCSR(%rax)
1:	mov	UC_RSP(%rdi), %rax
	mov	UC_RDI(%rdi), %rcx
	mov	%rcx, -RED_ZONE - 16(%rax)
	mov	UC_RIP(%rdi), %rcx
	mov	%rcx, -RED_ZONE - 8(%rax)
	mov	UC_R8(%rdi), %r8
	mov	UC_R9(%rdi), %r9
	mov	UC_R10(%rdi), %r10
	mov	UC_R11(%rdi), %r11
	mov	UC_R12(%rdi), %r12
	mov	UC_R13(%rdi), %r13
	mov	UC_R14(%rdi), %r14
	mov	UC_R15(%rdi), %r15
	mov	UC_RSI(%rdi), %rsi
	mov	UC_RBP(%rdi), %rbp
	mov	UC_RBX(%rdi), %rbx
	mov	UC_RDX(%rdi), %rdx
	mov	UC_RAX(%rdi), %rax
	mov	UC_RCX(%rdi), %rcx
	mov	UC_RSP(%rdi), %rdi
	lea	-RED_ZONE - 16(%rdi), %rsp
	pop	%rdi
	ret	$RED_ZONE
	.cfi_endproc
	.size	ow_machine_resume, . - ow_machine_resume
	.size	_Ux86_64_setcontext, . - _Ux86_64_setcontext

/* void ow_machine_sigreturn(const void *uc) */
	.globl	ow_machine_sigreturn
	.hidden	ow_machine_sigreturn
	.type	ow_machine_sigreturn, @function
	.p2align 4
ow_machine_sigreturn:
	.cfi_startproc
	mov	%rdi, %rsp
	mov	$NR_rt_sigreturn, %eax
	syscall
	hlt
	.cfi_endproc
	.size	ow_machine_sigreturn, . - ow_machine_sigreturn

#endif

	.section .note.GNU-stack, "", @progbits
