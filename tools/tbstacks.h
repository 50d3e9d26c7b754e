/* SPDX-License-Identifier: BSD-2-Clause */
/* The stacks that tbstack shows: some are walked, then these are named. */
#ifndef OW_TBSTACKS_H
#define OW_TBSTACKS_H

#include "tbthreads.h"

/*
 * Walk the chosen threads, or all if chosen->tids is NULL, and print them on stdout.
 * Return true if each stack is whole, or only too long.
 */
bool tb_stacks_print(struct ow_capture *c, const struct tb_threads *chosen,
		     const struct tb_args *args,
		     struct ow_symbolizer *symbolizer);

#endif /* OW_TBSTACKS_H */
