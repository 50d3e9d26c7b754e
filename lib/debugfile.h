/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The separate debug file of an object, where distributions put them.
 * (GDB manual 18.3, "Debugging Information in Separate Files")
 */
#ifndef OW_DEBUGFILE_H
#define OW_DEBUGFILE_H

#include <stddef.h>
#include <stdint.h>

struct ow_debuginfod;
struct ow_object;

/*
 * Open the debug file of obj, or return NULL.  By build-id, then by
 * .gnu_debuglink, then from debuginfod, if that is not NULL.  What is found has the
 * build-id of obj, or, where one of them has none, the CRC of the link; and its
 * code and data lie where those of obj do.  A user can place a hostile debug
 * file only where that user may write: beside an own object, which it names.
 * root goes before every path that is tried; NULL for the system's own.  What has
 * the build-id will do from the system, too.
 */
struct ow_object *ow_debugfile_open(const struct ow_object *obj,
				    const char *root,
				    struct ow_debuginfod *debuginfod);

/*
 * Open the file that dwz(1) moved common DWARF to: by build-id, or by name,
 * which is relative to the file from.
 */
struct ow_object *ow_debugfile_open_alt(const char *name, const char *from,
					const void *build_id, size_t size,
					const char *root,
					struct ow_debuginfod *debuginfod);

#endif /* OW_DEBUGFILE_H */
