// SPDX-License-Identifier: BSD-2-Clause
#include "proftext.h"

#include <stdbool.h>

#include "stackview.h"

/* U+FFFE and U+FFFF, of which XML has none. */
static bool is_nonchar(const unsigned char *s)
{
	return s[0] == 0xef && s[1] == 0xbf && s[2] >= 0xbe;
}

/* What a command line may have, and no text should; *size bytes are read. */
static bool is_odd(const unsigned char *s, size_t *size)
{
	return ow_view_is_control(s, size) || is_nonchar(s);
}

/* Nor what isn't to be shown. */
static bool is_unshown(const unsigned char *s, size_t *size)
{
	return ow_view_is_odd(s, size) || is_nonchar(s);
}

/* Bytes at s that are ASCII, print, and mean nothing to a format. */
static size_t plain_size(const unsigned char *s)
{
	size_t n = 0;

	while (s[n] >= ' ' && s[n] < 0x7f && s[n] != '"' && s[n] != '\\' &&
	       s[n] != '<' && s[n] != '>' && s[n] != '&')
		n++;
	return n;
}

/* Write such bytes, which are most.  Return how many there were. */
static size_t put_plain(FILE *out, const unsigned char *s)
{
	size_t n = plain_size(s);

	fwrite(s, 1, n, out);
	return n;
}

/* A string in which what is_masked() tells of is a '?', and the rest is whole. */
static void put_quoted(FILE *out, const char *text,
		       bool (*is_masked)(const unsigned char *, size_t *))
{
	const unsigned char *s = (const unsigned char *)text;
	size_t size;

	putc('"', out);
	for (s += put_plain(out, s); *s; s += put_plain(out, s)) {
		if (is_masked(s, &size))
			putc('?', out);
		else if (*s == '"' || *s == '\\')
			fprintf(out, "\\%c", *s);
		else if (*s == '<' || *s == '>' || *s == '&' ||
			 ow_view_is_odd(s, &size))
			ow_view_put_escaped(out, s, size);
		else
			fwrite(s, 1, size, out);
		s += size;
	}
	putc('"', out);
}

void proftext_put_json(FILE *out, const char *text)
{
	put_quoted(out, text, is_odd);
}

void proftext_put_script(FILE *out, const char *text)
{
	put_quoted(out, text, is_unshown);
}

void proftext_put_xml(FILE *out, const char *text)
{
	const unsigned char *s = (const unsigned char *)text;
	size_t size;

	for (s += put_plain(out, s); *s; s += put_plain(out, s)) {
		if (is_unshown(s, &size))
			putc('?', out);
		else if (*s == '<')
			fputs("&lt;", out);
		else if (*s == '>')
			fputs("&gt;", out);
		else if (*s == '&')
			fputs("&amp;", out);
		else if (*s == '"')
			fputs("&quot;", out);
		else
			fwrite(s, 1, size, out);
		s += size;
	}
}
