/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Hashes of what comes from targets and their files: SipHash-1-3 (Aumasson and
 * Bernstein, "SipHash: a fast short-input PRF") with a key of this run, so that
 * nobody outside can choose bytes whose hashes are alike.  They are of use in this
 * run only.
 */
#ifndef OW_HASH_H
#define OW_HASH_H

#include <stddef.h>
#include <stdint.h>

/* All bits of a hash are equally good. */
uint64_t ow_hash(const void *bytes, size_t size);

/* The same of 8 bytes, which a word of this machine is. */
uint64_t ow_hash_word(uint64_t word);

#endif /* OW_HASH_H */
