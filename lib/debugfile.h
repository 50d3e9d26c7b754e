/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The separate debug file of an object, where distributions put them.
 * (GDB manual 18.3, "Debugging Information in Separate Files")
 */
#ifndef OW_DEBUGFILE_H
#define OW_DEBUGFILE_H

#include <stdbool.h>
#include <stdint.h>

struct ow_debuginfod;
struct ow_object;

/*
 * The debug file of obj, which is closed with it, or NULL.  By build-id, then by
 * .gnu_debuglink, both looked for once, then from debuginfod, if that is not NULL.
 * What is found has the build-id of obj, or, where one of them has none, the CRC of
 * the link; and its code and data lie where those of obj do.  Outside the system's
 * folder of build-ids, a file is taken only if nobody can have written it but root, we
 * and obj's owner: else it is left out.  obj->root goes before every path that is
 * tried.  What has the build-id will do from the system, too.
 */
struct ow_object *ow_debugfile_of(struct ow_object *obj,
				  struct ow_debuginfod *debuginfod);

/* The file that has the DWARF of obj, obj itself or else its debug file; or NULL. */
struct ow_object *ow_debugfile_with_dwarf(struct ow_object *obj,
					  struct ow_debuginfod *debuginfod);

/*
 * Likewise the file that dwz(1) moved common DWARF to out of obj, which may be a debug
 * file: by build-id, or by name, which is relative to obj.  root is the first object's.
 */
struct ow_object *ow_debugfile_shared(struct ow_object *obj, const char *root,
				      struct ow_debuginfod *debuginfod);

/*
 * Look now for those that obj names, if it has not all names itself, with_lines also
 * lines: later they may have been written to.  *left bytes may be read to make CRCs, and
 * what was is taken off; a file that would take more is not looked for yet.
 */
void ow_debugfile_find_named(struct ow_object *obj, bool with_lines,
			     uint64_t *left);

#endif /* OW_DEBUGFILE_H */
