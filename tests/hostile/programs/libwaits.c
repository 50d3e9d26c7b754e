// SPDX-License-Identifier: BSD-2-Clause
/* A library whose code is on the stack of what has called it. */
#include <unistd.h>

void wait_in_object(void);

void wait_in_object(void)
{
	for (;;)
		pause();
}
