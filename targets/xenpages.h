/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Frames of a domain that are mapped here.  A mapping shows what the guest
 * writes, so that page tables are walked anew each time without a hypercall.
 * After ow_xenpages_init() nothing is allocated.
 */
#ifndef OW_XENPAGES_H
#define OW_XENPAGES_H

#include "xenseam.h"

#define OW_XENPAGES_MOST  8192 /* mapped at a time: 32 MiB */
#define OW_XENPAGES_BATCH 1024 /* by one call */

struct ow_xenpages_slot;
struct ow_xenpages_batch;

struct ow_xenpages {
	struct ow_physmem mem; /* first: cast back in at() */
	struct ow_xen_seam *seam;
	struct ow_xenpages_slot *slots; /* hashed by frame */
	size_t nr_slots;                /* in use */
	struct ow_xenpages_batch *batches;
	size_t nr_batches;
	uint64_t *wanted; /* frames that were asked for and aren't mapped */
	int *errors;
	size_t nr_wanted;
	bool is_pending; /* the last frame looked for is wanted, or will be */
	uint32_t take;   /* counts ow_xenpages_begin() */
};

/* 0 or -ENOMEM; ow_xenpages_free() in any case. */
int ow_xenpages_init(struct ow_xenpages *p, struct ow_xen_seam *seam);
void ow_xenpages_free(struct ow_xenpages *p);

/*
 * A new sample: frames that could not be mapped are tried again, and where too
 * much is mapped, all is unmapped.
 */
void ow_xenpages_begin(struct ow_xenpages *p);

/* Unmap all. */
void ow_xenpages_drop(struct ow_xenpages *p);

/*
 * Map all that p->mem.at() was asked for in vain, in one call.  0, also where
 * some could not be; or the negative errno of them all.
 */
int ow_xenpages_map(struct ow_xenpages *p);

/*
 * The bytes at a virtual address up to the end of its page, *avail_ret of them,
 * or NULL: then either p->is_pending, and mapping what is wanted leads further,
 * or there is nothing.
 */
const uint8_t *ow_xenpages_find(struct ow_xenpages *p,
				const struct ow_paging *paging, uint64_t addr,
				size_t *avail_ret);

/*
 * Copy from a virtual address, mapping what it takes: 0, -EFAULT, or what
 * ow_xenpages_map() says.
 */
int ow_xenpages_read(struct ow_xenpages *p, const struct ow_paging *paging,
		     uint64_t addr, void *buf, size_t size);

/* No walk takes more mappings in a row: five levels and the page. */
#define OW_XENPAGES_ROUNDS 6

#endif /* OW_XENPAGES_H */
