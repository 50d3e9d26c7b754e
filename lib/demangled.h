/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The last names that were demangled, of each user whose processes they are in: one function
 * has many addresses, and its name may take long each time.
 */
#ifndef OW_DEMANGLED_H
#define OW_DEMANGLED_H

#include <stdbool.h>
#include <sys/types.h>

#include "owner.h"

struct ow_demangled_names; /* of a user */

/* All zero is empty. */
struct ow_demangled {
	struct ow_demangled_names *of[OW_OWNER_SHARES];
	struct ow_demangled_names *last; /* who asked last */
	uid_t uid;                       /* and whose user that is */
	char *text; /* what the last call gave, if it is not kept */
};

/*
 * As ow_demangle() has it, or NULL; the text stays until the next call.  *is_refused: the
 * name has none for this user now, but may have one for others, or later.
 */
const char *ow_demangled_find(struct ow_demangled *d, const char *name,
			      uid_t uid, bool *is_refused);

void ow_demangled_deinit(struct ow_demangled *d);

#endif /* OW_DEMANGLED_H */
