/* SPDX-License-Identifier: BSD-2-Clause */
/* A function that has no symbol, after one whose symbol has no size. */
#include "ready.inc"

	.text
	.globl before
	.type before, @function
before:
	ret

	.p2align 4
.Lnameless:
	.cfi_startproc
	say_ready
	wait_for_ever
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
