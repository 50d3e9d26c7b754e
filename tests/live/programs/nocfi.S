/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * No C library, no CFI, no frame pointers: rbp is 0 from the start, which must
 * not be taken for the mark of the outermost frame.
 */
	.text
	.globl _start
	.type _start, @function
	.type outer, @function
	.type inner, @function
inner:	mov $1, %eax
	mov $1, %edi
	lea ready(%rip), %rsi
	mov $6, %edx
	syscall
1:	mov $34, %eax
	syscall
	jmp 1b
	.size inner, . - inner
outer:	call inner
	ret
	.size outer, . - outer
_start:	call outer
	hlt
	.size _start, . - _start

	.section .rodata
ready:	.ascii "ready\n"
	.section .note.GNU-stack, "", @progbits
