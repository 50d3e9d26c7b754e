/* SPDX-License-Identifier: BSD-2-Clause */
/* Entries of the test guest: PV (64-bit, paging on), PVH (32-bit, paging off),
 * of further CPUs, of traps and of events.  The image is linked at
 * BASE + 1 MiB; both ways it runs at that address. */
#include <xen/elfnote.h>

#define BASE 0xffffffff80000000
#define STACK_SIZE 0x40000
#define HYPERVISOR_IRET 23
#define NOTE(type, directive, value) \
	.pushsection .note.Xen, "a", @note; .align 4; \
	.long 4, 2f - 1f, type; .asciz "Xen"; 1: directive value; 2: .align 4; \
	.popsection

	NOTE(XEN_ELFNOTE_XEN_VERSION, .asciz, "xen-3.0")
	NOTE(XEN_ELFNOTE_GUEST_OS, .asciz, "outwind-lab")
	NOTE(XEN_ELFNOTE_LOADER, .asciz, "generic")
	NOTE(XEN_ELFNOTE_PAE_MODE, .asciz, "yes")
	NOTE(XEN_ELFNOTE_VIRT_BASE, .quad, BASE)
	NOTE(XEN_ELFNOTE_PADDR_OFFSET, .quad, 0)
	NOTE(XEN_ELFNOTE_ENTRY, .quad, start_pv)
	NOTE(XEN_ELFNOTE_PHYS32_ENTRY, .long, start_pvh - BASE)

/* A function that nobody has called. */
.macro OUTERMOST name
	.globl	\name
	.type	\name, @function
\name:
	.cfi_startproc
	.cfi_undefined %rip
.endm

.macro END name
	.cfi_endproc
	.size	\name, . - \name
.endm

	.text
	.code64
OUTERMOST start_pv
	movb	$1, is_pv(%rip)
	lea	stacks + STACK_SIZE(%rip), %rsp
	mov	%rsi, %rdi
	call	platform_init
	xor	%edi, %edi
	call	cpu_main
	ud2
END start_pv

OUTERMOST start_long
	lea	stacks + STACK_SIZE(%rip), %rsp
	lidt	idt_ptr(%rip)
	call	platform_init
	xor	%edi, %edi
	call	cpu_main
	ud2
END start_long

OUTERMOST start_cpu_pv
	call	cpu_main
	ud2
END start_cpu_pv

OUTERMOST start_cpu_pvh
	lgdt	gdt_ptr64(%rip)
	lidt	idt_ptr(%rip)
	push	$8
	lea	1f(%rip), %rax
	push	%rax
	lretq
1:	call	cpu_main
	ud2
END start_cpu_pvh

	.code32
	.globl start_pvh
start_pvh:
	lgdt	gdt_ptr - BASE
	mov	$(pml4 - BASE), %eax
	mov	%eax, %cr3
	mov	$0x20, %eax		/* CR4.PAE */
	mov	%eax, %cr4
	mov	$0xc0000080, %ecx	/* EFER.LME */
	rdmsr
	bts	$8, %eax
	wrmsr
	mov	$0x80000001, %eax	/* CR0.PG, CR0.PE */
	mov	%eax, %cr0
	ljmp	$8, $(1f - BASE)
	.code64
1:	mov	$start_long, %rax
	jmp	*%rax

/* What the CPU, or Xen for it, pushes: rip, cs, rflags, rsp, ss. */
.macro ENTRY name, above=0
	.globl	\name
	.type	\name, @function
\name:
	.cfi_startproc
	.cfi_signal_frame
	.cfi_def_cfa %rsp, 40 + \above
	.cfi_offset %rip, -40
	.cfi_offset %rsp, -16
.endm

/* Xen pushes rcx and r11 as well. */
.macro ENTRY_PV name
	ENTRY \name, 16
	.cfi_offset %rcx, -56
	.cfi_offset %r11, -48
	pop	%rcx
	.cfi_adjust_cfa_offset -8
	.cfi_restore %rcx
	pop	%r11
	.cfi_adjust_cfa_offset -8
	.cfi_restore %r11
.endm

.macro SAVE reg
	push	%\reg
	.cfi_adjust_cfa_offset 8
	.cfi_rel_offset %\reg, 0
.endm

.macro RESTORE reg
	pop	%\reg
	.cfi_adjust_cfa_offset -8
	.cfi_restore %\reg
.endm

/* Call the function, and go back to skip bytes behind what was interrupted. */
.macro HANDLE function, skip
	.irp reg, rax, rcx, rdx, rbx, rbp, rsi, rdi, r8, r9, r10, r11, r12, \
		r13, r14, r15
	SAVE \reg
	.endr
	mov	%rsp, %rbp
	.cfi_def_cfa_register %rbp
	and	$-16, %rsp
	call	\function
	mov	%rbp, %rsp
	.cfi_def_cfa_register %rsp
	.irp reg, r15, r14, r13, r12, r11, r10, r9, r8, rdi, rsi, rbp, rbx, \
		rdx, rcx, rax
	RESTORE \reg
	.endr
	addq	$\skip, (%rsp)
	cmpb	$0, is_pv(%rip)
	jne	1f
	iretq
1:	push	$0
	.cfi_adjust_cfa_offset 8
	push	%rcx
	.cfi_adjust_cfa_offset 8
	push	%r11
	.cfi_adjust_cfa_offset 8
	push	%rax
	.cfi_adjust_cfa_offset 8
	mov	$HYPERVISOR_IRET, %eax
	syscall
.endm

ENTRY_PV entry_ud_pv
	jmp	entry_ud
END entry_ud_pv

ENTRY entry_ud
	HANDLE on_trap, 2		/* bytes of ud2 */
END entry_ud

ENTRY_PV entry_event_pv
	jmp	entry_event
END entry_event_pv

ENTRY entry_event
	HANDLE on_event, 0
END entry_event

	.globl	entry_failsafe
entry_failsafe:
	hlt
	jmp	entry_failsafe

	.globl	trap_first
	.type	trap_first, @function
trap_first:
	.cfi_startproc
	ud2
	ret
END trap_first

	.section .rodata
gdt:	.quad	0, 0x00af9b000000ffff
gdt_ptr: .word	. - gdt - 1
	.long	gdt - BASE
gdt_ptr64: .word . - gdt - 1
	.quad	gdt
idt_ptr: .word	4095
	.quad	idt

	/* Virtual 0 and BASE both map physical 0 up to 1 GiB. */
	.data
	.globl	is_pv
is_pv:	.byte	0
	.align	4096
pml4:	.quad	low - BASE + 3
	.fill	510, 8, 0
	.quad	high - BASE + 3
low:	.quad	pages - BASE + 3
	.fill	511, 8, 0
high:	.fill	510, 8, 0
	.quad	pages - BASE + 3, 0
pages:
	i = 0
	.rept	512
	.quad	i + 0x83
	i = i + 0x200000
	.endr

	.section .note.GNU-stack, "", @progbits
