/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * .gnu_debugdata: a small ELF file with the .symtab that strip took away,
 * compressed by xz inside the object ("MiniDebugInfo", GDB manual 18.4).
 */
#ifndef OW_MINIDEBUG_H
#define OW_MINIDEBUG_H

#include <stdbool.h>

struct ow_object;

/*
 * The object inside obj, decompressed, or NULL: then *is_late is set if there was no time for
 * it, but may be later.
 */
struct ow_object *ow_minidebug_open(const struct ow_object *obj, bool *is_late);

#endif /* OW_MINIDEBUG_H */
