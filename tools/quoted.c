// SPDX-License-Identifier: BSD-2-Clause
#include "quoted.h"

#include <stdbool.h>
#include <string.h>

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

void quoted_put(FILE *out, const char *text, size_t size)
{
	static const char plain[] = "\"\\\n\t\r\v\f", letters[] = "\"\\ntrvf";
	const char *end = text + size, *pair;

	putc_unlocked('"', out);
	for (; text < end; text++) {
		pair = *text ? strchr(plain, *text) : NULL;
		if (pair) {
			putc_unlocked('\\', out);
			putc_unlocked(letters[pair - plain], out);
		} else if (*text < ' ' || *text > '~') {
			/* A digit that follows is none of the number's. */
			fprintf(out, "\\%0*o",
				text + 1 < end && is_digit(text[1]) ? 3 : 1,
				(unsigned int)(unsigned char)*text);
		} else {
			putc_unlocked(*text, out);
		}
	}
	putc_unlocked('"', out);
}

size_t quoted_size(const char *text, size_t size)
{
	const char *end = text + size;
	size_t most = size + 2;

	for (; text < end; text++)
		if (*text < ' ' || *text > '~')
			most += 3; /* a backslash and three digits */
		else
			most += *text == '"' || *text == '\\';
	return most;
}
