/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Counting what went well, and saying what did not. */
#ifndef KT_SAY_H
#define KT_SAY_H

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>

static int passed, failed;

static inline void say(bool well, const char *what, long figure)
{
	passed += well;
	failed += !well;
	if (!well)
		printf("not ok - %s (%ld, errno %d)\n", what, figure, errno);
}

#endif /* KT_SAY_H */
