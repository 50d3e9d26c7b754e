/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * .gnu_debugdata: a small ELF file with the .symtab that strip took away,
 * compressed by xz inside the object ("MiniDebugInfo", GDB manual 18.4).
 */
#ifndef OW_MINIDEBUG_H
#define OW_MINIDEBUG_H

struct ow_object;

/* The object inside obj, decompressed, or NULL. */
struct ow_object *ow_minidebug_open(const struct ow_object *obj);

#endif /* OW_MINIDEBUG_H */
