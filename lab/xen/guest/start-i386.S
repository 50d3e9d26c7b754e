/* SPDX-License-Identifier: BSD-2-Clause */
/* Entries of the 32-bit test guest (PVH, paging off, then two levels): of the first CPU,
 * of others, of traps and of events.  The image is linked at BASE + 1 MiB. */
#include <xen/elfnote.h>

#define BASE 0xc0000000
#define STACK_SIZE 0x40000
#define NOTE(type, directive, value) \
	.pushsection .note.Xen, "a", @note; .align 4; \
	.long 4, 2f - 1f, type; .asciz "Xen"; 1: directive value; 2: .align 4; \
	.popsection

	NOTE(XEN_ELFNOTE_XEN_VERSION, .asciz, "xen-3.0")
	NOTE(XEN_ELFNOTE_GUEST_OS, .asciz, "outwind-lab")
	NOTE(XEN_ELFNOTE_LOADER, .asciz, "generic")
	NOTE(XEN_ELFNOTE_PHYS32_ENTRY, .long, start_pvh - BASE)

	.text
	.code32
/* Its stack is none yet. */
	.globl start_pvh
start_pvh:
	lgdt	gdt_ptr - BASE
	mov	$(page_dir - BASE), %eax
	mov	%eax, %cr3
	mov	$0x10, %eax		/* CR4.PSE */
	mov	%eax, %cr4
	mov	$0x80000001, %eax	/* CR0.PG, CR0.PE */
	mov	%eax, %cr0
	ljmp	$8, $start_first

/* A function that nobody has called. */
.macro OUTERMOST name
	.globl	\name
	.type	\name, @function
\name:
	.cfi_startproc
	.cfi_undefined %eip
.endm

.macro END name
	.cfi_endproc
	.size	\name, . - \name
.endm

.macro LOAD_TABLES
	lgdt	gdt_ptr_high
	lidt	idt_ptr
	mov	$16, %eax
	mov	%eax, %ds
	mov	%eax, %es
	mov	%eax, %ss
	ljmp	$8, $1f
1:
.endm

OUTERMOST start_first
	LOAD_TABLES
	mov	$(stacks + STACK_SIZE), %esp
	call	platform_init
	push	$0
	call	cpu_main
	ud2
END start_first

/* Its number is on top of its stack. */
OUTERMOST start_cpu
	LOAD_TABLES
	call	cpu_main
	ud2
END start_cpu

/* What the CPU pushes in ring 0: eip, cs, eflags. */
.macro ENTRY name
	.globl	\name
	.type	\name, @function
\name:
	.cfi_startproc
	.cfi_signal_frame
	.cfi_def_cfa %esp, 12
	.cfi_offset %eip, -12
.endm

.macro SAVE reg
	push	%\reg
	.cfi_adjust_cfa_offset 4
	.cfi_rel_offset %\reg, 0
.endm

.macro RESTORE reg
	pop	%\reg
	.cfi_adjust_cfa_offset -4
	.cfi_restore %\reg
.endm

/* Call the function, and go back to skip bytes behind what was interrupted. */
.macro HANDLE function, skip
	.irp reg, eax, ecx, edx, ebx, ebp, esi, edi
	SAVE \reg
	.endr
	mov	%esp, %ebp
	.cfi_def_cfa_register %ebp
	and	$-16, %esp
	call	\function
	mov	%ebp, %esp
	.cfi_def_cfa_register %esp
	.irp reg, edi, esi, ebp, ebx, edx, ecx, eax
	RESTORE \reg
	.endr
	addl	$\skip, (%esp)
	iret
.endm

ENTRY entry_ud
	HANDLE on_trap, 2		/* bytes of ud2 */
END entry_ud

ENTRY entry_event
	HANDLE on_event, 0
END entry_event

	.globl	trap_first
	.type	trap_first, @function
trap_first:
	.cfi_startproc
	ud2
	ret
END trap_first

.macro MAP_GIB
	i = 0
	.rept	256
	.long	i + 0x83
	i = i + 0x400000
	.endr
.endm

	.section .rodata
gdt:	.quad	0, 0x00cf9b000000ffff, 0x00cf93000000ffff
gdt_ptr: .word	23
	.long	gdt - BASE
gdt_ptr_high: .word 23
	.long	gdt
idt_ptr: .word	2047
	.long	idt

	/* Virtual 0 and BASE both map physical 0 up to 1 GiB, by 4 MiB each.  Three
	 * levels don't do: under QEMU, Xen can't fetch a hypercall's instruction
	 * by them. */
	.data
	.align	4096
	.globl	page_dir
page_dir:
	MAP_GIB
	.fill	512, 4, 0
	MAP_GIB

	.section .note.GNU-stack, "", @progbits
