/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A list of what is mapped where: it is made once, and isn't changed any more, but
 * for what nothing needs being left out when no process has it.
 */
#ifndef OW_IMAGE_H
#define OW_IMAGE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "ow_sample.h"

struct ow_image {
	uint32_t id; /* from 1 */
	pid_t pid;
	uint64_t since;  /* CLOCK_MONOTONIC, ns; 0: before all */
	uint32_t before; /* the image that the process had before; 0: none */
	struct ow_bpf_range *ranges;
	uint32_t nr;
	uint32_t first;      /* where ranges lie in the kernel's */
	bool is_placed;      /* they do */
	unsigned int users;  /* processes that have it; a forked child shares */
	uint64_t idle_since; /* ns, when users became 0, or it was made */
};

/* The range that holds addr, or NULL. */
const struct ow_bpf_range *ow_image_range(const struct ow_image *image,
					  uint64_t addr);

/* Is all of r known to be there?  A JIT's code may be made to run often. */
bool ow_image_has(const struct ow_image *image, const struct ow_bpf_range *r);

/*
 * The image's ranges (it may be NULL) but for what r covers, and r among them.
 * to has room for two more than there are; return how many there are then.
 */
uint32_t ow_image_insert(const struct ow_image *image,
			 const struct ow_bpf_range *r, struct ow_bpf_range *to);

#endif /* OW_IMAGE_H */
