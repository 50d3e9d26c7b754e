/* SPDX-License-Identifier: BSD-2-Clause */
/* Going on in a cursor's frame. */
#ifndef OW_UNWRESUME_H
#define OW_UNWRESUME_H

#include "unwcursor.h"

/* As unw_resume(). */
int ow_unw_resume(struct ow_unw *u);

#endif /* OW_UNWRESUME_H */
