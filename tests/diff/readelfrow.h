/* SPDX-License-Identifier: BSD-2-Clause */
/* A row of an FDE as readelf --debug-dump=frames-interp prints it. */
#ifndef READELFROW_H
#define READELFROW_H

#include "arch.h"
#include "row.h"

/*
 * Do the values, which stand in text below columns (registers' names, and CFA and
 * ra), say the same as the row?  If not, why says which column differs.
 */
bool readelfrow_is(const struct ow_arch *arch, const char *columns,
		   const char *text, const struct ow_row *row, char *why,
		   size_t size);

#endif /* READELFROW_H */
