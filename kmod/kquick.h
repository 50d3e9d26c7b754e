/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Most of most walks: along rows that are cached, with each word of the stack read
 * where it is.
 */
#ifndef KW_QUICK_H
#define KW_QUICK_H

#include "kcontext.h"

/*
 * Go as far as that leads, from the last frame of c->walk on, which has one.
 * Return the end, or OW_END_NOT_YET: what is next takes ow_walk_advance().
 */
enum ow_end kw_quick_run(struct kw_context *c);

#endif /* KW_QUICK_H */
