// SPDX-License-Identifier: BSD-2-Clause
#include "library.h"

#include <dlfcn.h>
#include <stdio.h>

bool ow_library_load(const char *soname,
		     const struct ow_library_function *functions, size_t nr,
		     char *why, size_t size)
{
	void *library = dlopen(soname, RTLD_NOW | RTLD_GLOBAL);
	void *found;
	size_t i;

	if (!library) {
		snprintf(why, size, "%s", dlerror());
		return false;
	}
	for (i = 0; i < nr; i++) {
		found = dlsym(library, functions[i].name);
		if (!found) {
			snprintf(why, size, "%s has no %s", soname,
				 functions[i].name);
			return false;
		}
		*(void **)functions[i].at = found;
	}
	return true;
}
