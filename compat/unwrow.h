/* SPDX-License-Identifier: BSD-2-Clause */
/* The row of a cursor's frame, from whatever source its address space has. */
#ifndef OW_UNWROW_H
#define OW_UNWROW_H

#include "find.h"
#include "step.h"
#include "unwcursor.h"

/*
 * Room for one look-up and one step; the row borrows from it.  About 6 KiB:
 * taken from a few that are shared, as a signal's stack may be small.
 */
struct ow_scratch {
	struct ow_finder finder;
	struct ow_step step;
	struct ow_target target;
	struct ow_module module;
	struct ow_cfi cfi;
	struct ow_regs regs;
	const struct ow_unw *reader; /* remote: whose memory the target has */
	unw_proc_info_t pi;          /* remote: what the row borrows from */
	struct ow_rule addresses[OW_MAX_REGS];
	bool has_pi;
	bool taken;
};

/* One that nobody has, or own. */
struct ow_scratch *ow_scratch_take(struct ow_scratch *own);
void ow_scratch_give(struct ow_scratch *s);

/*
 * Find the row of u's frame.  Return 0; 1 if nothing but the end of the stack
 * can be there; or a negated unw_error_t.  *tag_ret is what the row holds as
 * long as; *is_kept says whether it may be remembered at all.
 */
int ow_unw_find_row(struct ow_unw *u, struct ow_scratch *s, struct ow_row *row,
		    uint64_t *tag_ret, bool *is_kept);

/* Make the engine read u's memory; ow_unw_find_row() does so, too. */
void ow_unw_set_target(struct ow_unw *u, struct ow_scratch *s);

/* Release what the row borrows from. */
void ow_unw_put_row(struct ow_unw *u, struct ow_scratch *s);

/* The tag of the object that has addr, asked for once while addr stays in it. */
uint64_t ow_unw_tag(struct ow_unw *u, uint64_t addr);

/* The negated unw_error_t for one of enum ow_err, negated. */
int ow_unw_error(int err);

/* Is ip at a signal's trampoline? */
bool ow_unw_at_trampoline(struct ow_unw *u, struct ow_row *row);
bool ow_unw_at_plt(struct ow_unw *u);

/*
 * Return true if ip, to which a guess led, can be that of a caller, whose registers u
 * has: what ow_fallback_may_call() says (fallback.h).  by_fp: a frame record led there.
 */
bool ow_unw_may_call(const struct ow_unw *u, uint64_t ip, bool by_fp);

#endif /* OW_UNWROW_H */
