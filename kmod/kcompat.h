/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What newer kernels have, for older ones: the module is written for 6.12.
 * Included by the compiler's command line.
 */
#ifndef KW_COMPAT_H
#define KW_COMPAT_H

#include <linux/version.h>

#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 6, 0)
/* Linux commit 13bc32bad705 ("fs: new accessor methods for inode times") */
#define inode_get_mtime(inode) ((inode)->i_mtime)
/* Some stable releases have inode_get_ctime(), as a function. */
#define kw_inode_ctime(inode)  ((inode)->i_ctime)
#else
#define kw_inode_ctime(inode) inode_get_ctime(inode)
#endif

#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 2, 0)
/* Linux commit 0ef86097f127 ("ftrace: rename ftrace_instruction_pointer_set()") */
#define ftrace_regs_set_instruction_pointer(fregs, ip) \
	ftrace_instruction_pointer_set(fregs, ip)
#endif

#endif /* KW_COMPAT_H */
