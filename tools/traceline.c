// SPDX-License-Identifier: BSD-2-Clause
#include "traceline.h"

#define MOST_DIGITS 16

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r';
}

static int digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c |= 0x20;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

bool ow_traceline_address(const char *line, size_t size, uint64_t *ret)
{
	const char *p = line, *end = line + size, *start;
	bool is_count = true;
	uint64_t value = 0;

	while (p < end && is_blank(*p))
		p++;
	while (p < end && is_blank(end[-1]))
		end--;
	if (end - p > 2 && p[0] == '0' && (p[1] | 0x20) == 'x') {
		is_count = false;
		p += 2;
	}
	if (end - p < 1 || end - p > MOST_DIGITS)
		return false;
	for (start = p; p < end; p++) {
		if (digit(*p) < 0)
			return false;
		is_count = is_count && digit(*p) < 10;
		value = value << 4 | digit(*p);
	}
	if (is_count || p == start)
		return false;
	*ret = value;
	return true;
}
