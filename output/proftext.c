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

/* A string in which what is_masked() tells of is a '?', and the rest is whole. */
static void put_quoted(FILE *out, const char *text,
		       bool (*is_masked)(const unsigned char *, size_t *))
{
	const unsigned char *s = (const unsigned char *)text;
	size_t size;

	putc('"', out);
	for (; *s; s += size) {
		if (is_masked(s, &size))
			putc('?', out);
		else if (*s == '"' || *s == '\\')
			fprintf(out, "\\%c", *s);
		else if (*s == '<' || *s == '>' || *s == '&' ||
			 ow_view_is_odd(s, &size))
			ow_view_put_escaped(out, s, size);
		else
			fwrite(s, 1, size, out);
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

	for (; *s; s += size) {
		if (is_unshown(s, &size)) {
			putc('?', out);
			continue;
		}
		switch (*s) {
		case '<': fputs("&lt;", out); break;
		case '>': fputs("&gt;", out); break;
		case '&': fputs("&amp;", out); break;
		case '"': fputs("&quot;", out); break;
		default: fwrite(s, 1, size, out);
		}
	}
}
