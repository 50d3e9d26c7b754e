/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Whether a thread that waits does so where the kernel's words say.
 *
 * /proc/PID/task/TID/syscall tells pc, but not the segment that pc is an offset in.
 * On x86 a program can make segments of code whose base isn't 0 (modify_ldt(2)); they
 * hold code of 32 or 16 bits, so that pc is below 4 GiB there.  That a call's instruction
 * stands before pc proves nothing: the program chooses the base.  Only how the thread
 * came into the kernel does (callentry.h), or a stop.
 */
#ifndef OW_WAITPLACE_H
#define OW_WAITPLACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ow_arch;

#define OW_WAITPLACE_SIZE \
	2 /* bytes of an instruction that makes a system call */

/* Return true if pc of a program of arch may be one of a segment with another base. */
bool ow_waitplace_is_doubtful(const struct ow_arch *arch, uint64_t pc);

/*
 * Return true if a system call was made at pc.  code holds OW_WAITPLACE_SIZE bytes
 * before pc and as many from pc on, of which the first size ones could be read.  The
 * call's instruction ends at pc; or it begins there, if the call is to be made again.
 * A program for which both are false doesn't wait there in a call.
 */
bool ow_waitplace_makes_call(const struct ow_arch *arch, const uint8_t *code,
			     size_t size);

/*
 * The architecture of a system call that returns to where code is of, as above: x86-64
 * for syscall, i386 for int $0x80.  NULL if there is none of them, or one of each.
 */
const struct ow_arch *ow_waitplace_call_arch(const uint8_t *code, size_t size);

#endif /* OW_WAITPLACE_H */
