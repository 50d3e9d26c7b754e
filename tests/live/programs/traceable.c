/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Preloaded: anybody may trace the program whom its user and it allow to; or, with
 * $UNTRACEABLE, nobody but root.
 */
#include <stdlib.h>
#include <sys/prctl.h>

__attribute__((constructor)) static void permit(void)
{
	/* A kernel without that restriction knows no such call. */
	prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY);
	if (getenv("UNTRACEABLE"))
		prctl(PR_SET_DUMPABLE, 0);
}
