/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A list of what is mapped where: it is made once, and isn't changed any more, but
 * for ranges that no stored stack has frames in, which go when no process has it.
 */
#ifndef OW_IMAGE_H
#define OW_IMAGE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "ow_sample.h"

struct ow_imagewalk;

struct ow_image {
	uint32_t id; /* from 1; never another one's */
	pid_t pid;   /* of the process that had it first */
	struct ow_bpf_range *ranges;
	uint32_t nr;
	uint32_t nr_counted; /* ranges that count for a user, */
	uid_t uid;           /* this one */
	unsigned int users;  /* logs of processes that may still ask for it */
	unsigned int stored; /* stacks that were kept and name it */
	uint8_t *claimed; /* of ranges: such a stack has frames there; or NULL */
	bool is_placed;   /* ranges lie in the kernel's, too, from first on */
	bool is_prepared; /* tables of its objects were ordered, as far as they can be */
	bool is_idle; /* it waits to be thinned out */
	uint32_t first;
	uint64_t placeless_until; /* ns: it isn't tried to be placed until then */
	uint64_t idle_since;      /* ns, when users became 0 */
	uint64_t queued;          /* ns, when it began to wait */
	struct ow_image *next_of_id, *next_idle;
	struct ow_imagewalk *walks[2]; /* of copied stacks: x86-64, i386 */
};

/*
 * The first range of a list, in address order and apart, that ends after an address: it may
 * begin after it, too; or NULL.
 */
const struct ow_bpf_range *ow_image_in_list(const struct ow_bpf_range *list,
					    uint32_t nr, uint64_t addr);

/* The first range that ends above addr, or NULL. */
const struct ow_bpf_range *ow_image_from(const struct ow_image *image,
					 uint64_t addr);

/* The range that holds addr, or NULL. */
const struct ow_bpf_range *ow_image_range(const struct ow_image *image,
					  uint64_t addr);

/* Return true if what is mapped there has a number (sampledobjects.h). */
bool ow_image_has_number(const struct ow_bpf_range *range);

/* Return true if it stands for more ranges than there is room for. */
bool ow_image_is_full(const struct ow_image *image);

/* Sorted ranges, none of which overlaps another one. */
struct ow_image_list {
	struct ow_bpf_range *all;
	uint32_t nr;
};

/*
 * Map what is new over what is old: to has room for old->nr + 2 * new->nr ranges.
 * What is new within a range of the same code leaves that as it is, as a JIT's code
 * may be made to run again and again.  Return how many ranges there are.
 */
uint32_t ow_image_overlay(const struct ow_image_list *old,
			  const struct ow_image_list *new,
			  struct ow_bpf_range *to);

/*
 * Replace mappings that were made one after the other (sorted by nothing else), in memory
 * of malloc(3), by what they come to: up to twice as many ranges, as one mapping splits
 * another.  Return false, and leave them, where there is no memory.
 */
bool ow_image_flatten(struct ow_image_list *maps);

#endif /* OW_IMAGE_H */
