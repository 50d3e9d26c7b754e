/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Files of split DWARF, which libdw maps by itself: they are cut off as any other
 * may be.
 */
#ifndef OW_SPLITFILES_H
#define OW_SPLITFILES_H

#include <elfutils/libdw.h>
#include <stdbool.h>
#include <stddef.h>

struct ow_splitfiles {
	struct ow_filemap **list;
	size_t nr, room;
};

/*
 * Note the file that the split unit is in, which was opened by that path.  Return
 * false if that can't be done: then it is not to be read.
 */
bool ow_splitfiles_add(struct ow_splitfiles *s, Dwarf_Die *unit,
		       const char *path);

/* Return true if one of them was cut off while it was read. */
bool ow_splitfiles_are_cut(const struct ow_splitfiles *s);

/* Forget all, before libdw unmaps them. */
void ow_splitfiles_deinit(struct ow_splitfiles *s);

#endif /* OW_SPLITFILES_H */
