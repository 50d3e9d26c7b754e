// SPDX-License-Identifier: BSD-2-Clause
#include "unwstates.h"

#include "err.h"
#include "unwrow.h"
#include "unwstep.h"

/*
 * What a callback gets, and may copy: the rules are behind it, and expressions
 * stay where the object has them.
 */
struct state {
	struct ow_row row;
	struct ow_rule rules[OW_MAX_REGS];
};

static int tell(struct ow_scratch *s, uint64_t bias, uint8_t how,
		unw_reg_states_callback cb, void *token)
{
	struct ow_finder *f = &s->finder;
	struct state state;
	int more, err = ow_cfa_begin(&f->cfa, &f->fde.cie, f->fde.insns,
				     f->fde.start, f->fde.end);

	if (err)
		return ow_unw_error(err);
	while ((more = ow_cfa_next(&f->cfa)) > 0) {
		ow_cfa_row(&f->cfa, &state.row, state.rules);
		state.row.bias = bias;
		state.row.how = how;
		err = cb(token, &state, sizeof(state), f->cfa.start + bias,
			 f->cfa.next + bias);
		if (err)
			return err;
	}
	return ow_unw_error(more);
}

int ow_unw_states_iterate(struct ow_unw *u, unw_reg_states_callback cb,
			  void *token)
{
	struct ow_scratch own, *s = ow_scratch_take(&own);
	struct ow_row row;
	uint64_t tag;
	bool is_kept;
	int err = ow_unw_find_row(u, s, &row, &tag, &is_kept);

	/* Where there is no FDE, there are no states. */
	if (err == 0 && row.how != OW_HOW_CFI && row.how != OW_HOW_DEBUG)
		err = -UNW_ENOINFO;
	if (err == 0)
		err = tell(s, row.bias, row.how, cb, token);
	ow_unw_put_row(u, s);
	if (s != &own)
		ow_scratch_give(s);
	return err > 0 && !is_kept ? -UNW_ENOINFO : err;
}

int ow_unw_state_apply(struct ow_unw *u, const void *data)
{
	struct ow_scratch own, *s = ow_scratch_take(&own);
	const struct state *state = data;
	struct ow_row row = state->row;
	int err;

	row.rules = state->rules;
	ow_unw_set_target(u, s);
	err = ow_unw_step_by(u, s, &row);
	if (s != &own)
		ow_scratch_give(s);
	return err;
}
