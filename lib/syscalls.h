/* SPDX-License-Identifier: BSD-2-Clause */
/* System calls by number. */
#ifndef OW_SYSCALLS_H
#define OW_SYSCALLS_H

struct ow_arch;

/*
 * The name of a system call, or NULL where the headers that outwind was built
 * with know none of that number.
 */
const char *ow_syscall_name(const struct ow_arch *arch, int nr);

/* The same of the ABI x32, whose bit is not in nr. */
#define OW_X32_BIT 0x40000000 /* of x32's numbers (Linux, asm/unistd.h) */
const char *ow_syscall_x32_name(int nr);

#endif /* OW_SYSCALLS_H */
