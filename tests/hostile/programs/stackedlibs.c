// SPDX-License-Identifier: BSD-2-Clause
/* Waits below the libraries that are named, copies of libpass.so, each called by the last. */
#include <dlfcn.h>
#include <stdio.h>
#include <unistd.h>

static char **left;

static void call_next(void)
{
	void (*pass)(void (*next)(void));
	void *lib = *left ? dlopen(*left, RTLD_NOW | RTLD_LOCAL) : NULL;

	if (*left++) {
		pass = lib ? dlsym(lib, "pass_on") : NULL;
		if (pass)
			pass(call_next);
		else
			fprintf(stderr, "%s\n", dlerror());
		return;
	}
	puts("ready");
	fflush(stdout);
	for (;;)
		pause();
}

int main(int argc, char **argv)
{
	(void)argc;
	left = argv + 1;
	call_next();
	return 1;
}
