/* SPDX-License-Identifier: BSD-2-Clause */
/* From a cursor's frame to its caller's. */
#ifndef OW_UNWSTEP_H
#define OW_UNWSTEP_H

#include "unwcursor.h"

struct ow_row;
struct ow_scratch;

/* As unw_step(). */
int ow_unw_step(struct ow_unw *u);

/* The same by this row; s is what it was found with. */
int ow_unw_step_by(struct ow_unw *u, struct ow_scratch *s,
		   const struct ow_row *row);

#endif /* OW_UNWSTEP_H */
