/* SPDX-License-Identifier: BSD-2-Clause */
/* General registers as ptrace and core files hand them over. */
#ifndef OW_PRSTATUS_H
#define OW_PRSTATUS_H

#include "arch.h"

/*
 * Read the register set NT_PRSTATUS of size bytes, as PTRACE_GETREGSET returns
 * it.  The rest of ret becomes unknown.  False if it is too short.
 */
bool ow_prstatus_regs(const struct ow_arch *arch, const uint8_t *bytes,
		      size_t size, struct ow_regs *ret);

/*
 * What the thread pointer is, which lies above a thread's stack; 0 where the
 * set doesn't hold it.
 */
uint64_t ow_prstatus_tp(const struct ow_arch *arch, const uint8_t *bytes,
			size_t size);

/*
 * The number of the descriptor that says where that is, of a set of i386; 0 where
 * it isn't one, or has none.
 */
unsigned int ow_prstatus_tls(const struct ow_arch *arch, const uint8_t *bytes,
			     size_t size);

/*
 * Return false if the pc is an offset in a segment of the process' own table
 * (modify_ldt(2)), whose base isn't known.
 */
bool ow_prstatus_has_address(const struct ow_arch *arch, const uint8_t *bytes,
			     size_t size);

/* Was the CPU in user mode?  False where the set is too short, too. */
bool ow_prstatus_is_user(const struct ow_arch *arch, const uint8_t *bytes,
			 size_t size);

/* Where a register is in the set, in bytes, or -1. */
int ow_prstatus_offset(const struct ow_arch *arch, unsigned int slot);

/* Bytes of an architecture's set. */
size_t ow_prstatus_size(const struct ow_arch *arch);

/* The architecture whose set has that many bytes, or NULL. */
const struct ow_arch *ow_prstatus_arch(size_t size);

#endif /* OW_PRSTATUS_H */
