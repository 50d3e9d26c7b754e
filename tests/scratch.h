/* SPDX-License-Identifier: BSD-2-Clause */
/* A folder for what a test compiles, and commands to do it with. */
#ifndef OW_SCRATCH_H
#define OW_SCRATCH_H

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static char scratch_dir[] = "/tmp/outwind-test-XXXXXX";

static inline void scratch_remove(void)
{
	char command[64];

	snprintf(command, sizeof(command), "rm -rf %s", scratch_dir);
	if (system(command))
		printf("# left %s behind\n", scratch_dir);
}

/* Make the folder and go there; it goes when the test ends. */
static inline void scratch_enter(void)
{
	if (!mkdtemp(scratch_dir) || chdir(scratch_dir))
		abort();
	atexit(scratch_remove);
}

/* Run a shell command in the folder; did it succeed? */
__attribute__((format(printf, 1, 2))) static inline bool
scratch_run(const char *fmt, ...)
{
	char command[4096];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(command, sizeof(command), fmt, ap);
	va_end(ap);
	fflush(stdout);
	return system(command) == 0;
}

static inline void scratch_write(const char *name, const char *text)
{
	FILE *f = fopen(name, "we");

	if (!f || fputs(text, f) < 0 || fclose(f))
		abort();
}

#endif /* OW_SCRATCH_H */
