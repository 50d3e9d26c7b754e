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

/* Write bytes, or only count them.  Return how many there are. */
static size_t put_bytes(FILE *out, const void *s, size_t n)
{
	if (out)
		fwrite(s, 1, n, out);
	return n;
}

static size_t put_byte(FILE *out, unsigned char c)
{
	if (out)
		putc(c, out);
	return 1;
}

/* Write bytes that mean nothing to a format, which are most.  Return how many. */
static size_t put_plain(FILE *out, const unsigned char *s)
{
	return put_bytes(out, s, plain_size(s));
}

/* An escape of JSON; of what isn't in 16 bits there are two. */
static size_t put_escaped(FILE *out, const unsigned char *s, size_t size)
{
	if (out)
		ow_view_put_escaped(out, s, size);
	return size < 4 ? 6 : 12;
}

/* A string in which what is_masked() tells of is a '?', and the rest is whole. */
static size_t put_quoted(FILE *out, const char *text,
			 bool (*is_masked)(const unsigned char *, size_t *))
{
	const unsigned char *s = (const unsigned char *)text;
	size_t size, plain, written = put_byte(out, '"');

	for (;; s += size) {
		plain = put_plain(out, s);
		written += plain;
		s += plain;
		if (!*s)
			break;
		if (is_masked(s, &size)) {
			written += put_byte(out, '?');
		} else if (*s == '"' || *s == '\\') {
			written += put_byte(out, '\\');
			written += put_byte(out, *s);
		} else if (*s == '<' || *s == '>' || *s == '&' ||
			   ow_view_is_odd(s, &size)) {
			written += put_escaped(out, s, size);
		} else {
			written += put_bytes(out, s, size);
		}
	}
	return written + put_byte(out, '"');
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
		written += as ? put_bytes(out, as, strlen(as)) :
				put_bytes(out, s, size);
	}
}
