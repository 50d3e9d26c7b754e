/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Lists of mappings that no process has any more.  Whoever maps code again and
 * again, or starts processes, leaves more and more of them; of those only what
 * the stacks that were stored have frames in is of use.
 */
#ifndef OW_OLDIMAGES_H
#define OW_OLDIMAGES_H

#include "images.h"
#include "samplestore.h"

/*
 * Free what isn't of use, of images that no process has had since an instant
 * (CLOCK_MONOTONIC, ns).  forget() is told of each of them before, as its ranges
 * move or go.  False if there is no memory; then nothing is done.
 */
bool ow_oldimages_free(struct ow_images *im, const struct ow_samplestore *store,
		       uint64_t since, void (*forget)(void *arg, uint32_t id),
		       void *arg);

/*
 * The same of those that are older than what may still come of samples, but only
 * where there is half as much again as was left the last time.  Not between a
 * stack's being walked and its being stored.
 */
void ow_oldimages_thin(struct ow_images *im, const struct ow_samplestore *store,
		       void (*forget)(void *arg, uint32_t id), void *arg);

#endif /* OW_OLDIMAGES_H */
