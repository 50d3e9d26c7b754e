// SPDX-License-Identifier: BSD-2-Clause
/* Loads the library that is named, a copy of libpaused.so, and waits in it. */
#include <dlfcn.h>
#include <stddef.h>

int main(int argc, char **argv)
{
	void *lib = argc > 1 ? dlopen(argv[1], RTLD_NOW) : NULL;
	int (*outer)(int) = lib ? dlsym(lib, "paused_outer") : NULL;

	return outer ? outer(argc) + 1 : 2;
}
