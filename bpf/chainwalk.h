/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Stacks of which the kernel gave the program counters alone: what else frames
 * are, and why there are no more, is told by the objects' CFI.
 */
#ifndef OW_CHAINWALK_H
#define OW_CHAINWALK_H

#include "copywalk.h"

/*
 * Put the frames of nr program counters, innermost first, into w->packed[first]
 * and further, and in *end why they end: OW_END_NOT_YET where a caller could
 * have been found, and the kernel doesn't tell why it wasn't.  is_full: there
 * was no room for more.  Return how many frames were put, w->max at most.
 */
size_t ow_chainwalk_run(struct ow_copywalk *w, struct ow_image *image,
			const uint64_t *pcs, size_t nr, bool is_full,
			size_t first, enum ow_end *end);

#endif /* OW_CHAINWALK_H */
