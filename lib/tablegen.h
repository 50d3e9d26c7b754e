/* SPDX-License-Identifier: BSD-2-Clause */
/* Making the compact table of an object out of its CFI. */
#ifndef OW_TABLEGEN_H
#define OW_TABLEGEN_H

#include <outwind/outwind.h>

struct ow_object;

/*
 * Make the table of an object whose CFI is loaded, of its .eh_frame.  Return its
 * bytes, the caller's to free, aligned for ow_table_open(), and their number;
 * NULL with err if it has no CFI or can't have a table.  stats is filled, but for
 * was_there and too_large: here, a table may be as large as it is.  It is given up,
 * OW_CODE_ABSENT, when *stop, which may be NULL and is another thread's, becomes true.
 */
uint8_t *ow_table_generate(const struct ow_object *obj, size_t *size_ret,
			   struct ow_table_stats *stats, const bool *stop,
			   struct ow_error *err);

/*
 * The same, with what .debug_frame has where .eh_frame has nothing: for who can't
 * look there himself.
 */
uint8_t *ow_table_generate_all(const struct ow_object *obj, size_t *size_ret,
			       struct ow_table_stats *stats, const bool *stop,
			       struct ow_error *err);

#endif /* OW_TABLEGEN_H */
