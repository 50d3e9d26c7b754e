/* SPDX-License-Identifier: BSD-2-Clause */
/* Preloaded: anybody may trace the program whom its user and it allow to. */
#include <sys/prctl.h>

__attribute__((constructor)) static void permit(void)
{
	/* A kernel without that restriction knows no such call. */
	prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY);
}
