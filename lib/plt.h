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
struct ow_plt;

struct ow_plt_stub {
	uint64_t vaddr;
	const char *name;  /* of what it calls; borrowed from the object; or
			     NULL, and then */
	uint64_t resolver; /* the vaddr of the IFUNC that chooses it */
};

/* Find the sections of an object's stubs; NULL when out of memory. */
struct ow_plt *ow_plt_create(const struct ow_object *obj);

/*
 * The stub in .plt, .plt.sec or .plt.got that covers vaddr, or false.  What looks
 * through relocations for too long stops, and is told of (ow_object_refuse()).
 */
bool ow_plt_find(const struct ow_plt *plt, uint64_t vaddr,
		 struct ow_plt_stub *ret);

void ow_plt_destroy(struct ow_plt *plt);

#endif /* OW_PLT_H */
