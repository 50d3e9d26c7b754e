/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Shared libraries that are loaded when first needed: being linked with them
 * would have every command wait for them, and need them to be installed.
 */
#ifndef OW_LIBRARY_H
#define OW_LIBRARY_H

#include <stdbool.h>
#include <stddef.h>

struct ow_library_function {
	const char *name;
	void *at; /* a pointer to such a function, which is set */
};

/*
 * Load a library by its soname, for good, and find all these functions (dlopen(3));
 * more calls do no harm.  false: why, of size bytes, says so.
 */
bool ow_library_load(const char *soname,
		     const struct ow_library_function *functions, size_t nr,
		     char *why, size_t size);

#endif /* OW_LIBRARY_H */
