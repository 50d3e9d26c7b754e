/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Taking the registers of x86-64.  Offsets of ucontext_t: see
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
#define UC_FPMEM  424
#define FP_CWD    0
#define FP_MXCSR  24

	.text

/* int unw_getcontext(unw_context_t *uc): as the caller finds itself after it. */
	.globl	_Ux86_64_getcontext
	.type	_Ux86_64_getcontext, @function
	.p2align 4
_Ux86_64_getcontext:
	.cfi_startproc
	endbr64
	mov	%r8, UC_R8(%rdi)
	mov	%r9, UC_R9(%rdi)
	mov	%r10, UC_R10(%rdi)
	mov	%r11, UC_R11(%rdi)
	mov	%r12, UC_R12(%rdi)
	mov	%r13, UC_R13(%rdi)
	mov	%r14, UC_R14(%rdi)
	mov	%r15, UC_R15(%rdi)
	mov	%rdi, UC_RDI(%rdi)
	mov	%rsi, UC_RSI(%rdi)
	mov	%rbp, UC_RBP(%rdi)
	mov	%rbx, UC_RBX(%rdi)
	mov	%rdx, UC_RDX(%rdi)
	movq	$0, UC_RAX(%rdi)
	mov	%rcx, UC_RCX(%rdi)
	lea	8(%rsp), %rax
	mov	%rax, UC_RSP(%rdi)
	mov	(%rsp), %rax
	mov	%rax, UC_RIP(%rdi)
	lea	UC_FPMEM(%rdi), %rax
	mov	%rax, UC_FPREGS(%rdi)
	fnstcw	FP_CWD(%rax)
	stmxcsr	FP_MXCSR(%rax)
	xor	%eax, %eax
	ret
	.cfi_endproc
	.size	_Ux86_64_getcontext, . - _Ux86_64_getcontext

/*
 * int unw_backtrace(void **buffer, int size): the caller's registers, in the
 * order of struct ow_trace_regs, for ow_trace_begin(buffer, size, regs).
 */
	.globl	unw_backtrace
	.type	unw_backtrace, @function
	.weak	backtrace
	.type	backtrace, @function
	.p2align 4
unw_backtrace:
backtrace:
	.cfi_startproc
	endbr64
	mov	(%rsp), %rax
	lea	8(%rsp), %rcx
	sub	$72, %rsp
	.cfi_adjust_cfa_offset 72
	mov	%rax, (%rsp)
	mov	%rcx, 8(%rsp)
	mov	%rbp, 16(%rsp)
	mov	%rbx, 24(%rsp)
	mov	%r12, 32(%rsp)
	mov	%r13, 40(%rsp)
	mov	%r14, 48(%rsp)
	mov	%r15, 56(%rsp)
	mov	%rsp, %rdx
	call	ow_trace_begin
	add	$72, %rsp
	.cfi_adjust_cfa_offset -72
	ret
	.cfi_endproc
	.size	unw_backtrace, . - unw_backtrace
	.size	backtrace, . - backtrace

#endif

	.section .note.GNU-stack, "", @progbits
