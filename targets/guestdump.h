/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A core file of a machine, not of a process: QEMU's dump-guest-memory of a
 * Linux guest, whose threads are its CPUs and whose memory is physical.
 * (QEMU, dump/dump.c, target/i386/arch_dump.c)
 */
#ifndef OW_GUESTDUMP_H
#define OW_GUESTDUMP_H

#include "coremaps.h"
#include "pagetable.h"

struct ow_guest {
	struct ow_physical *memory;
	struct ow_pagetable table;
	uint64_t pc_mask;         /* AArch64: bits of an address in one half */
	struct ow_object *kernel; /* until a module takes it over */
};

/* Is this a machine's, by its notes? */
bool ow_guestdump_is(const struct ow_core *core);

/*
 * Take the memory and find the kernel: its page tables, how far it was moved,
 * and the file that it is (as given, or by its release).  Pieces are the
 * kernel's code then, and threads that were in a program say so in place of
 * registers.  Return 0 or fill err; ow_guestdump_free() in any case.
 */
int ow_guestdump_take(struct ow_guest *guest, struct ow_core *core,
		      struct ow_error *err);

void ow_guestdump_free(struct ow_guest *guest);

#endif /* OW_GUESTDUMP_H */
