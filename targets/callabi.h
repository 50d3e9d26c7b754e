/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Of which architecture the system calls are that threads are in.
 *
 * /proc/PID/task/TID/syscall tells a call's number, but not whose number that is.  An
 * x86-64 program makes i386's calls by int $0x80, and in 32-bit code; an i386 program
 * makes x86-64's in 64-bit code.
 */
#ifndef OW_CALLABI_H
#define OW_CALLABI_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct ow_arch;
struct ow_taken;

/*
 * The architecture of the call that a stopped thread is in, as the kernel tells it
 * (AUDIT_ARCH_..., linux/audit.h); 0: the kernel is older than Linux 5.3.
 */
uint32_t ow_callabi_of_stopped(pid_t tid);

/*
 * Thread i is stopped, with these registers (size bytes of the kernel's register set):
 * if it is still in the call that /proc told, ask the kernel of which architecture.
 */
void ow_callabi_ask(struct ow_taken *t, size_t i, const uint8_t *bytes,
		    size_t size);

/*
 * Thread i waits, and has done so while line was read of /proc/PID/task/TID/syscall and
 * while its way into the kernel told arch (callentry.h; NULL: nothing): if it is still
 * in the call that /proc told first, that is the call's.
 */
void ow_callabi_tell(struct ow_taken *t, size_t i, const char *line,
		     const struct ow_arch *arch);

/*
 * After all threads were taken, and the target's architecture is known: fill syscall_abi
 * of each.  Where the kernel did not tell, the instruction that made the call does, if
 * the program has not written there itself, as far as the kernel knows.
 */
void ow_callabi_settle(struct ow_taken *t);

#endif /* OW_CALLABI_H */
