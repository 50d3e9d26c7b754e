// SPDX-License-Identifier: BSD-2-Clause
#define CTF_LIBRARY_ITSELF
#include "ctflibrary.h"

#include <dlfcn.h>
#include <stdio.h>

#define SONAME "libbabeltrace2.so.0"

struct ctf_library ctf_library;

/* Where each function goes, and what it is called. */
static const struct {
	void *at;
	const char *name;
} functions[] = {

#define FUNCTION(name) { &ctf_library.name##_, #name },
	CTF_LIBRARY_FUNCTIONS(FUNCTION)
#undef FUNCTION
};

bool ctf_library_load(char *why, size_t size)
{
	void *library = dlopen(SONAME, RTLD_NOW | RTLD_GLOBAL);
	void *found;
	size_t i;

	if (!library) {
		snprintf(why, size,
			 "reading it takes " SONAME " (libbabeltrace2-0): %s",
			 dlerror());
		return false;
	}
	for (i = 0; i < sizeof(functions) / sizeof(functions[0]); i++) {
		found = dlsym(library, functions[i].name);
		if (!found) {
			snprintf(why, size, SONAME " has no %s",
				 functions[i].name);
			return false;
		}
		*(void **)functions[i].at = found;
	}
	return true;
}
