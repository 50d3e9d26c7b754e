// SPDX-License-Identifier: BSD-2-Clause
#include "bulk.h"

#include <stdio.h>

#include "effort.h"
#include "leftout.h"

#define MOST     ((int64_t)1 << 30) /* bytes: holes of a file take 2 ns each */
#define A_SECOND ((int64_t)64 << 20)
#define SHARES   4

static struct ow_effort efforts[OW_NR_BULKS] = {
	[OW_BULK_SYMBOLS] = OW_EFFORT(MOST, A_SECOND),
	[OW_BULK_RELOCATIONS] = OW_EFFORT(MOST, A_SECOND),
	[OW_BULK_UNWIND] = OW_EFFORT(MOST, A_SECOND),
	[OW_BULK_UNPACKED] = OW_EFFORT(MOST, A_SECOND),
};

bool ow_bulk_take(enum ow_bulk which, uint64_t bytes)
{
	if (bytes > ow_effort_left(&efforts[which]) / SHARES)
		return false;
	ow_effort_spend(&efforts[which], bytes);
	return true;
}

void ow_bulk_refuse(const char *path, const char *what)
{
	char text[96];

	snprintf(text, sizeof(text), "%s would take too long to look through",
		 what);
	ow_leave_out(path, text);
}
