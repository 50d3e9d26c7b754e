/* SPDX-License-Identifier: BSD-2-Clause */
/* Names of C++ and Rust functions as their source has them. */
#ifndef OW_DEMANGLE_H
#define OW_DEMANGLE_H

#include <sys/types.h>

/*
 * The demangled name, allocated, or NULL if name is not mangled, is longer
 * than any compiler makes it, would give an absurdly long text, or takes too long.
 * It is asked for on behalf of a user's processes (-1: not known): names that may take
 * long get NULL once such names of the user have taken too long, which is noted
 * (ow_leave_out()).
 */
char *ow_demangle(const char *name, uid_t uid);

#endif /* OW_DEMANGLE_H */
