// SPDX-License-Identifier: BSD-2-Clause
/* In place of ctftrace.c in a build without libbabeltrace2. */
#include "ctfreader.h"

#include <stdio.h>

int ctf_read(const char *path, struct ctf_reader *r, char *why, size_t size)
{
	(void)r;
	snprintf(why, size,
		 "%s: a trace, but outwind was built without libbabeltrace2",
		 path);
	return -1;
}
