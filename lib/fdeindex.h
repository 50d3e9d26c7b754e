/* SPDX-License-Identifier: BSD-2-Clause */
/* A sorted index of FDEs, for sections without a search table. */
#ifndef OW_FDEINDEX_H
#define OW_FDEINDEX_H

#include "cfi.h"

struct ow_owner;

#define OW_FDEINDEX_MANY 8192 /* FDEs: a second thread is worth its start */

/*
 * List all FDEs of .eh_frame, or of .debug_frame, by their start; by two threads
 * if .eh_frame_hdr tells of many.  Entries that can't be read are left out.  The
 * refs are the caller's to free; their memory is taken from the budget for the
 * owner of *own.  Return 0; -OW_CODE_MEMORY if they are more than the owner may have, or
 * when out of memory; or -OW_CODE_TIMEOUT if they take longer than the owner's user may
 * take (bulk.h).
 */
int ow_fde_index_build(const struct ow_cfi *cfi, bool is_debug,
		       struct ow_owner *own, struct ow_fde_index *ret);

/*
 * The same as .eh_frame_hdr lists them, which is faster, and has to be looked at
 * when they are read.  -1 also if it can't be all of them.
 */
int ow_fde_index_of_hdr(const struct ow_cfi *cfi, struct ow_owner *own,
			struct ow_fde_index *ret);

#endif /* OW_FDEINDEX_H */
