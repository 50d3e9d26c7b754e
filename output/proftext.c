// SPDX-License-Identifier: BSD-2-Clause
#include "proftext.h"

#include <stdbool.h>
#include <string.h>

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

/* An escape of JSON; of what isn't in 16 bits there are two. */
static size_t put_escaped(FILE *out, const unsigned char *s, size_t size)
{
	ow_view_put_escaped(out, s, size);
	return size < 4 ? 6 : 12;
}

/* A string in which what is_masked() tells of is a '?', and the rest is whole. */
static size_t put_quoted(FILE *out, const char *text,
			 bool (*is_masked)(const unsigned char *, size_t *))
{
	const unsigned char *s = (const unsigned char *)text;
	size_t size, plain, written = 2;

	putc('"', out);
	for (;; s += size) {
		plain = put_plain(out, s);
		written += plain;
		s += plain;
		if (!*s)
			break;
		if (is_masked(s, &size)) {
			putc('?', out);
			written++;
		} else if (*s == '"' || *s == '\\') {
			fprintf(out, "\\%c", *s);
			written += 2;
		} else if (*s == '<' || *s == '>' || *s == '&' ||
			   ow_view_is_odd(s, &size)) {
			written += put_escaped(out, s, size);
		} else {
			written += fwrite(s, 1, size, out);
		}
	}
	putc('"', out);
	return written;
}

size_t proftext_put_json(FILE *out, const char *text)
{
	return put_quoted(out, text, is_odd);
}

size_t proftext_put_script(FILE *out, const char *text)
{
	return put_quoted(out, text, is_unshown);
}

/* What stands for a character that means something to XML, or NULL. */
static const char *entity_of(unsigned char c)
{
	switch (c) {
	case '<': return "&lt;";
	case '>': return "&gt;";
	case '&': return "&amp;";
	case '"': return "&quot;";
	}
	return NULL;
}

size_t proftext_put_xml(FILE *out, const char *text)
{
	const unsigned char *s = (const unsigned char *)text;
	size_t size, plain, written = 0;
	const char *as;

	for (;; s += size) {
		plain = put_plain(out, s);
		written += plain;
		s += plain;
		if (!*s)
			return written;
		as = is_unshown(s, &size) ? "?" : entity_of(*s);
		if (as)
			written += fwrite(as, 1, strlen(as), out);
		else
			written += fwrite(s, 1, size, out);
	}
}
