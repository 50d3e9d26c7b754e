/* SPDX-License-Identifier: BSD-2-Clause */
/* Is called back from a library that it loads at run time. */
#include <dlfcn.h>

#include "stay.h"

static int callback(int x)
{
	return stay(x) + 1;
}

static NOINLINE int load(const char *path)
{
	void *lib = dlopen(path, RTLD_NOW);
	int (*enter)(int (*f)(int)) = NULL;

	if (lib)
		*(void **)&enter = dlsym(lib, "plugin_enter");
	return enter ? enter(callback) + 1 : 1;
}

int main(int argc, char **argv)
{
	return argc > 1 ? load(argv[1]) + 1 : 64;
}
