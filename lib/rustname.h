/* SPDX-License-Identifier: BSD-2-Clause */
/* The grammar of Rust's mangled names, v0 (Rust RFC 2603). */
#ifndef OW_RUSTNAME_H
#define OW_RUSTNAME_H

#include <stdbool.h>

#define OW_RUSTNAME_MAX 4096 /* bytes of a name that is looked through */

/*
 * Return true if a demangler may come to an identifier in Punycode in a name, "_R...".  One
 * that no compiler makes may have such where its letters would allow that.
 */
bool ow_rustname_may_be_punycode(const char *name);

#endif /* OW_RUSTNAME_H */
