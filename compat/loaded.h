/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The objects that this process has loaded, as the dynamic linker knows them
 * right now.  Nothing here locks or allocates where glibc has
 * _dl_find_object() (2.35); dl_iterate_phdr() takes its place where it isn't.
 */
#ifndef OW_LOADED_H
#define OW_LOADED_H

#include "cfi.h"

struct link_map;

struct ow_loaded {
	uint64_t start, end; /* all that is mapped of it */
	uint64_t hdr;        /* address of .eh_frame_hdr, or 0 */
	/* What distinguishes it from whatever else may ever be loaded there; 0:
	   it stays until the process ends. */
	uint64_t tag;
	const char *path; /* "" for the program; borrowed; may be NULL */
	uint64_t bias;    /* addr - vaddr */
};

/* The object whose addresses have addr, or false. */
bool ow_loaded_find(uint64_t addr, struct ow_loaded *ret);

/*
 * Its CFI as it lies in memory, where all vaddrs are addresses.  Return 0,
 * -OW_ENOENT if there is no .eh_frame_hdr, or what its bytes deserve.
 */
int ow_loaded_cfi(const struct ow_loaded *l, struct ow_cfi *ret);

/* DT_PLTGOT, or 0: what libunwind calls an object's gp. */
uint64_t ow_loaded_gp(const struct ow_loaded *l);

#endif /* OW_LOADED_H */
