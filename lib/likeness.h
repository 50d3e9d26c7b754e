/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Whether the files of two objects tell the same: the bytes by which frames are
 * found and named.  These are the headers, the CFI, and all that is not loaded
 * (symbols, debug information), but not the code and its data.  A file without
 * section headers, or without a section .eh_frame, is compared as a whole.
 */
#ifndef OW_LIKENESS_H
#define OW_LIKENESS_H

#include <stdbool.h>
#include <stdint.h>

struct ow_elf;
struct ow_object;

/* An object that has more telling bytes than this is like no other one. */
#define OW_LIKENESS_MAX ((uint64_t)64 << 20)

/*
 * Set *ret to a hash of the object's telling bytes.  Objects that are alike have
 * the same one.  A hostile file can have any hash: compare before trusting it.
 * Return the number of these bytes, or 0 if there are more than OW_LIKENESS_MAX.
 */
uint64_t ow_likeness_hash(const struct ow_object *obj, uint64_t *ret);

/*
 * Return true if two files have their code and data at the same vaddrs: their
 * PT_LOADs are equal in vaddr, memory size and flags.  objcopy(1) and eu-strip(1)
 * leave these as they are in a separate debug file.  If one of the files has
 * none, the sections .text have to be equal in vaddr and size.
 */
bool ow_likeness_of_layout(const struct ow_elf *a, const struct ow_elf *b);

/* Return true if all telling bytes of the two are equal. */
bool ow_likeness_is_same(const struct ow_object *a, const struct ow_object *b);

#endif /* OW_LIKENESS_H */
