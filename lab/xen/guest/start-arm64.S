/* SPDX-License-Identifier: BSD-2-Clause */
/* Entries of the arm64 test guest: a Linux "Image", started by Xen with the
 * MMU off at 0x40080000; it maps that at BASE + 0x80000 and goes on there. */
#define BASE 0xffff800000000000
#define STACK_SIZE 0x40000
#define NORMAL 0x701	/* block, normal memory, inner shareable, accessed */
#define DEVICE 0x60000000000405	/* block, MAIR's second, never executed */
#define TABLE 3
#define PC 32		/* its number in DWARF for the Arm 64-bit Architecture */
#define FRAME 272	/* x0-x30, pc, pstate, padding */

	.section .head, "ax"
	.globl	_start
_start:
	b	1f
	.long	0
	.quad	0x80000			/* text_offset */
	.quad	_end - _start		/* image_size */
	.quad	0xa			/* 4 KiB pages, anywhere in memory */
	.quad	0, 0, 0
	.ascii	"ARM\x64"
	.long	0
1:	adrp	x0, level0
	adrp	x1, level1
	adrp	x2, level2
	orr	x3, x1, #TABLE
	str	x3, [x0]		/* TTBR0: 0 is level 1 of ... */
	str	x3, [x0, #2048]		/* TTBR1: ... the same at BASE */
	orr	x3, x2, #TABLE
	str	x3, [x1]		/* BASE: 2 MiB blocks */
	str	x3, [x1, #8]		/* and 0x40000000: the same */
	ldr	x3, =DEVICE
	str	x3, [x1, #16]		/* BASE + 2 GiB: addresses from 0 on */
	mov	x3, #0x40000000
	add	x3, x3, #NORMAL
	mov	x4, #512
2:	str	x3, [x2], #8
	add	x3, x3, #0x200000
	subs	x4, x4, #1
	b.ne	2b
	mov	x19, #0			/* CPU */
	ldr	x20, =start_first
	b	mmu_on

	.globl	start_cpu
start_cpu:				/* x0: CPU */
	mov	x19, x0
	ldr	x20, =start_other
mmu_on:
	adrp	x0, level0
	mov	x3, #0xff		/* normal, write-back; device-nGnRnE */
	msr	mair_el1, x3
	msr	ttbr0_el1, x0
	msr	ttbr1_el1, x0
	/* 48-bit both ways, 4 KiB granule, write-back, inner shareable, 40-bit PA */
	ldr	x3, =0x00000002b5103510
	msr	tcr_el1, x3
	dsb	sy
	isb
	mrs	x3, sctlr_el1
	mov	x4, #0x1005		/* MMU, data and instruction caches */
	orr	x3, x3, x4
	msr	sctlr_el1, x3
	isb
	ldr	x3, =vectors
	msr	vbar_el1, x3
	msr	spsel, #1
	ldr	x3, =stacks + STACK_SIZE
	mov	x4, #STACK_SIZE
	madd	x3, x19, x4, x3
	mov	sp, x3
	mov	x29, #0
	mov	x30, #0
	mov	x0, x19
	br	x20
	.ltorg

/* A function that nobody has called. */
.macro OUTERMOST name
	.globl	\name
	.type	\name, %function
\name:
	.cfi_startproc
	.cfi_undefined x30
	bl	cpu_main
	brk	#1
	.cfi_endproc
	.size	\name, . - \name
.endm

	.text
OUTERMOST start_first
OUTERMOST start_other

	.globl	trap_first
	.type	trap_first, %function
trap_first:
	.cfi_startproc
	brk	#0
	ret
	.cfi_endproc
	.size	trap_first, . - trap_first

/*
 * Until the pc is on the stack, nobody but the CPU knows it: these few
 * instructions have no CFI.
 */
.macro VECTOR name, entry
	.balign	128
	.type	\name, %function
\name:
	sub	sp, sp, #FRAME
	stp	x0, x1, [sp]
	mrs	x0, elr_el1
	mrs	x1, spsr_el1
	stp	x0, x1, [sp, #248]
	b	\entry
	.size	\name, . - \name
.endm

.macro DEAD_END
	.balign	128
	b	.
.endm

	.balign	2048
vectors:
	.rept	4
	DEAD_END
	.endr
	VECTOR vector_trap, entry_trap
	VECTOR vector_event, entry_event
	.rept	10
	DEAD_END
	.endr

.macro SAVE a, b, off
	stp	\a, \b, [sp, #\off]
	.cfi_rel_offset \a, \off
	.cfi_rel_offset \b, \off + 8
.endm

.macro RESTORE a, b, off
	ldp	\a, \b, [sp, #\off]
	.cfi_restore \a
	.cfi_restore \b
.endm

/* skip: bytes behind what was interrupted, to go on at. */
.macro ENTRY name, function, skip
	.globl	\name
	.type	\name, %function
\name:
	.cfi_startproc
	.cfi_signal_frame
	.cfi_return_column PC
	.cfi_def_cfa sp, FRAME
	.cfi_offset PC, 248 - FRAME
	.cfi_offset x0, 0 - FRAME
	.cfi_offset x1, 8 - FRAME
	SAVE	x2, x3, 16
	SAVE	x4, x5, 32
	SAVE	x6, x7, 48
	SAVE	x8, x9, 64
	SAVE	x10, x11, 80
	SAVE	x12, x13, 96
	SAVE	x14, x15, 112
	SAVE	x16, x17, 128
	SAVE	x18, x19, 144
	SAVE	x20, x21, 160
	SAVE	x22, x23, 176
	SAVE	x24, x25, 192
	SAVE	x26, x27, 208
	SAVE	x28, x29, 224
	str	x30, [sp, #240]
	.cfi_rel_offset x30, 240
	bl	\function
	ldp	x0, x1, [sp, #248]
	add	x0, x0, #\skip
	msr	elr_el1, x0
	msr	spsr_el1, x1
	ldr	x30, [sp, #240]
	.cfi_restore x30
	RESTORE	x28, x29, 224
	RESTORE	x26, x27, 208
	RESTORE	x24, x25, 192
	RESTORE	x22, x23, 176
	RESTORE	x20, x21, 160
	RESTORE	x18, x19, 144
	RESTORE	x16, x17, 128
	RESTORE	x14, x15, 112
	RESTORE	x12, x13, 96
	RESTORE	x10, x11, 80
	RESTORE	x8, x9, 64
	RESTORE	x6, x7, 48
	RESTORE	x4, x5, 32
	RESTORE	x2, x3, 16
	RESTORE	x0, x1, 0
	/* Below sp now, but with interrupts off nobody overwrites it. */
	add	sp, sp, #FRAME
	.cfi_def_cfa_offset 0
	.cfi_offset PC, 248 - FRAME
	eret
	.cfi_endproc
	.size	\name, . - \name
.endm

ENTRY entry_trap, on_trap, 4
ENTRY entry_event, on_event, 0

	.data
	.align	12
level0:	.fill	4096
level1:	.fill	4096
level2:	.fill	4096
	.section .note.GNU-stack, "", @progbits
