/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Is what the CPU takes for user memory current's? */
#ifndef KW_OWN_H
#define KW_OWN_H

#include <linux/mm.h>
#include <linux/sched.h>

/*
 * While a CPU goes from one process to the next, and for some patching, it uses
 * other page tables than those of current, which has an mm.  What the kernel's
 * own nmi_uaccess_okay() (arch/x86/mm/tlb.c) finds by a variable that no module can
 * read is asked of the register.  Whoever calls it is not moved to another CPU, or
 * may sleep.
 */
static inline bool kw_memory_is_own(void)
{
#if defined(CONFIG_X86_64) && !defined(CONFIG_UML)
	return __va(read_cr3_pa()) == (void *)current->mm->pgd;
#else
	return true;
#endif
}

#endif /* KW_OWN_H */
