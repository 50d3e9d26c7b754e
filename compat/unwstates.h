/* SPDX-License-Identifier: BSD-2-Clause */
/* All rows of a cursor's procedure, for who keeps them himself. */
#ifndef OW_UNWSTATES_H
#define OW_UNWSTATES_H

#include "unwcursor.h"

/* As unw_reg_states_iterate(), unw_apply_reg_state(). */
int ow_unw_states_iterate(struct ow_unw *u, unw_reg_states_callback cb,
			  void *token);
int ow_unw_state_apply(struct ow_unw *u, const void *state);

#endif /* OW_UNWSTATES_H */
