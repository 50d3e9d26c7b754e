/* SPDX-License-Identifier: BSD-2-Clause */
/* From a capture to the sections of its snapshot. */
#ifndef OW_SNAPBUILD_H
#define OW_SNAPBUILD_H

#include "bytebuf.h"
#include "capture.h"

/*
 * Append all sections to ret.  flags are enum ow_save_flags.  Opens the objects
 * of all modules.  Return 0 or fill err.
 */
int ow_snap_build(struct ow_capture *c, unsigned int flags,
		  struct ow_bytebuf *ret, struct ow_error *err);

#endif /* OW_SNAPBUILD_H */
