/* SPDX-License-Identifier: BSD-2-Clause */
/* Names of C++ and Rust functions as their source has them. */
#ifndef OW_DEMANGLE_H
#define OW_DEMANGLE_H

#include <stdbool.h>
#include <sys/types.h>

/* Return true if name may be mangled, and is no longer than any compiler makes it. */
bool ow_is_mangled(const char *name);

/*
 * Demangle a name: *ret is allocated, or NULL if the name is not mangled, would give an
 * absurdly long text, or takes too long.  It is asked for on behalf of a user's processes
 * (-1: not known): once names of the user have taken too long, all that may do so are
 * refused, which is noted (ow_leave_out()).  Return 0, -OW_CODE_TIMEOUT for a name that
 * is refused, or -OW_CODE_MEMORY; *ret is NULL then.
 */
int ow_demangle(const char *name, uid_t uid, char **ret);

#endif /* OW_DEMANGLE_H */
