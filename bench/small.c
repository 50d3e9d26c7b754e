// SPDX-License-Identifier: BSD-2-Clause
/* A program with nothing but libc, that waits. */
#include <unistd.h>

int main(void)
{
	pause();
	return 0;
}
