/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Code that a program has copied to memory of its own, in place of what was mapped
 * from its file: for huge pages, as node --use-largepages and PHP's OPcache do.
 */
#ifndef OW_REMAPPED_H
#define OW_REMAPPED_H

#include <stdbool.h>
#include <stdint.h>

struct ow_mappings;

/* Two parts of one file, and whether between them there would be a third. */
static inline bool ow_remapped_between(uint64_t below, uint64_t below_off,
				       uint64_t above, uint64_t above_off)
{
	return above > below && above_off > below_off &&
	       above - below == above_off - below_off;
}

/*
 * Have such mappings listed as those of the file that is around them.  The kernel may
 * be asked for what is around, so this is for a list that was just read.
 */
void ow_remapped_settle(struct ow_mappings *maps);

#endif /* OW_REMAPPED_H */
