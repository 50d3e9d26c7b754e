/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Code that has taken the place of other code without being told of: mremap(2) makes
 * no event, and what another process maps that has the same memory is told of for that
 * one only.  A look at the mappings shows it.
 */
#ifndef OW_IMAGECHECK_H
#define OW_IMAGECHECK_H

#include "imageusers.h"

/*
 * Compare what the last look at a process has shown, which was begun at that time
 * (CLOCK_MONOTONIC, ns), with what was known by then.  All that had been told by the
 * look's end has to be applied.  Return the ranges that were known to have other code
 * than they were seen to have, in address order and to be freed, or NULL; *nr is
 * their number.
 */
struct ow_bpf_range *ow_imagecheck_changed(struct ow_images *im, pid_t pid,
					   uint64_t as_of, uint32_t *nr);

#endif /* OW_IMAGECHECK_H */
