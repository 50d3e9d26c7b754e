// SPDX-License-Identifier: BSD-2-Clause
#include "quoted.h"

#include <stdbool.h>

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* The letter that stands for a character after a backslash; or 0. */
static char letter_of(char c)
{
	switch (c) {
	case '"':
	case '\\': return c;
	case '\n': return 'n';
	case '\t': return 't';
	case '\r': return 'r';
	case '\v': return 'v';
	case '\f': return 'f';
	}
	return 0;
}

/* As many digits as it takes, or three. */
static void put_octal(FILE *out, unsigned char byte, bool is_whole)
{
	if (is_whole || byte >> 6)
		putc_unlocked('0' + (byte >> 6), out);
	if (is_whole || byte >> 3)
		putc_unlocked('0' + (byte >> 3 & 7), out);
	putc_unlocked('0' + (byte & 7), out);
}

void quoted_put(FILE *out, const char *text, size_t size)
{
	const char *end = text + size;
	char letter;

	putc_unlocked('"', out);
	for (; text < end; text++) {
		letter = letter_of(*text);
		if (letter) {
			putc_unlocked('\\', out);
			putc_unlocked(letter, out);
		} else if (*text < ' ' || *text > '~') {
			putc_unlocked('\\', out);
			/* A digit that follows is none of the number's. */
			put_octal(out, (unsigned char)*text,
				  text + 1 < end && is_digit(text[1]));
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
