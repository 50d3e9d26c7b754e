/* SPDX-License-Identifier: BSD-2-Clause */
/* A function that has no symbol, after one whose symbol has no size. */
	.text
	.globl before
	.type before, @function
before:
	ret

	.p2align 4
.Lnameless:
	.cfi_startproc
	mov $1, %eax
	mov $1, %edi
	lea ready(%rip), %rsi
	mov $6, %edx
	syscall
1:	mov $34, %eax
	syscall
	jmp 1b
	.cfi_endproc

	.globl _start
	.type _start, @function
_start:
	.cfi_startproc
	.cfi_undefined rip
	call .Lnameless
	hlt
	.cfi_endproc
	.size _start, . - _start

	.section .rodata
ready:	.ascii "ready\n"
	.section .note.GNU-stack, "", @progbits
