/* SPDX-License-Identifier: BSD-2-Clause */
/* Names of C++ and Rust functions as their source has them. */
#ifndef OW_DEMANGLE_H
#define OW_DEMANGLE_H

/*
 * The demangled name, allocated, or NULL if name is not mangled, is longer
 * than any compiler makes it, would give an absurdly long text, or takes too long.
 */
char *ow_demangle(const char *name);

#endif /* OW_DEMANGLE_H */
