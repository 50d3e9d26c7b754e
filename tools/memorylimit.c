// SPDX-License-Identifier: BSD-2-Clause
#include "memorylimit.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <outwind/outwind.h>

#define MOST (1UL << 30) /* of whatever unit */

bool memorylimit_take(const char *text)
{
	static const char suffixes[] = "KMG";
	const char *suffix;
	unsigned long n;
	char *end;

	if (*text < '0' || *text > '9')
		return false;
	errno = 0;
	n = strtoul(text, &end, 0);
	suffix = *end ? strchr(suffixes, *end) : NULL;
	if (errno || n < 1 || n > MOST || (*end && (!suffix || end[1])))
		return false;
	ow_memory_limit((uint64_t)n
			<< (suffix ? 10 * (suffix - suffixes + 1) : 0));
	return true;
}
