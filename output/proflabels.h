/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Which functions without a name get labels of their own, "object+0xVADDR", of which
 * PROFILE_MOST_LABELS bytes are made.  The owners of stacks share these: an owner gets what
 * its stacks want, or else as much as any other one gets.
 */
#ifndef OW_PROFLABELS_H
#define OW_PROFLABELS_H

#include "profile.h"

/* All zero is one that hasn't shared yet. */
struct proflabels {
	uint8_t *states; /* of each frame; NULL: all labels are made */
};

/*
 * Share the labels of a profile's frames, and add to *nr_ret, unless that is NULL, how many
 * frames get none.  Return false when out of memory.
 */
bool proflabels_share(struct proflabels *l, const struct profile *p,
		      uint64_t *nr_ret);

/* Return true if the frame of that number gets one, if it has no name. */
bool proflabels_has(const struct proflabels *l, uint32_t frame);

void proflabels_deinit(struct proflabels *l);

#endif /* OW_PROFLABELS_H */
