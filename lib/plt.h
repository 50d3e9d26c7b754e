/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The stubs through which an object calls others.  They have no symbols; what
 * they jump through has a relocation, and that a name.
 */
#ifndef OW_PLT_H
#define OW_PLT_H

#include <stdbool.h>
#include <stdint.h>

struct ow_object;

struct ow_plt_stub {
	uint64_t vaddr;
	const char *name;  /* of what it calls; borrowed from the object; or
			     NULL, and then */
	uint64_t resolver; /* the vaddr of the IFUNC that chooses it */
};

/* The stub in .plt, .plt.sec or .plt.got that covers vaddr, or false. */
bool ow_plt_find(const struct ow_object *obj, uint64_t vaddr,
		 struct ow_plt_stub *ret);

#endif /* OW_PLT_H */
