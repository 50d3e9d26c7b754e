/* SPDX-License-Identifier: BSD-2-Clause */
/* The objects of a core that has no list of files: from its link map. */
#ifndef OW_CORELINKS_H
#define OW_CORELINKS_H

#include "coremaps.h"

/*
 * Find the program (as given, or by AT_EXECFN) and, through its DT_DEBUG, the
 * dynamic linker's list of objects (glibc, elf/link.h; System V ABI, "Dynamic
 * Linking"), and name the pieces that they are.  The capture's regions are
 * there and sorted; so are the pieces, also afterwards.  Return 0 or fill err.
 */
int ow_corelinks_take(struct ow_core *core, struct ow_error *err);

#endif /* OW_CORELINKS_H */
