/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * No C library, no CFI, no frame pointers: rbp is 0 from the start, which must
 * not be taken for the mark of the outermost frame.
 */
#include "ready.inc"

	.text
	.globl _start
	.type _start, @function
	.type outer, @function
	.type inner, @function
inner:	say_ready
	wait_for_ever
	.size inner, . - inner
outer:	call inner
	ret
	.size outer, . - outer
_start:	call outer
	hlt
	.size _start, . - _start
