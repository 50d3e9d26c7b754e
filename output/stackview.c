// SPDX-License-Identifier: BSD-2-Clause
#include "stackview.h"

#include <string.h>

size_t ow_view_utf8_size(const unsigned char *s)
{
	size_t n = s[0] < 0x80 ? 1 :
		   s[0] < 0xc2 ? 0 :
		   s[0] < 0xe0 ? 2 :
		   s[0] < 0xf0 ? 3 :
		   s[0] < 0xf5 ? 4 :
				 0;
	size_t i;

	for (i = 1; i < n; i++)
		if ((s[i] & 0xc0) != 0x80)
			return 0;
	/* Too long a form, a surrogate, or beyond U+10FFFF. */
	if ((s[0] == 0xe0 && s[1] < 0xa0) || (s[0] == 0xed && s[1] > 0x9f) ||
	    (s[0] == 0xf0 && s[1] < 0x90) || (s[0] == 0xf4 && s[1] > 0x8f))
		return 0;
	return n;
}

/* The code point of the UTF-8 sequence at s, of n bytes. */
static uint32_t code_point(const unsigned char *s, size_t n)
{
	uint32_t code = n == 1 ? s[0] : s[0] & (0x7fu >> n);
	size_t i;

	for (i = 1; i < n; i++)
		code = code << 6 | (s[i] & 0x3fu);
	return code;
}

void ow_view_put_escaped(FILE *out, const unsigned char *s, size_t n)
{
	uint32_t code = code_point(s, n);

	if (code >= 0x10000)
		fprintf(out, "\\u%04x\\u%04x", 0xd7c0 + (code >> 10),
			0xdc00 + (code & 0x3ff));
	else
		fprintf(out, "\\u%04x", code);
}

/*
 * What orders others (UAX #9), separates lines, or is not seen: marks of annotations,
 * and Default_Ignorable_Code_Point (Unicode 15.0, DerivedCoreProperties.txt).
 */
static const struct {
	uint32_t first, last;
} unseen[] = {
	{ 0xad, 0xad },       { 0x34f, 0x34f },     { 0x61c, 0x61c },
	{ 0x115f, 0x1160 },   { 0x17b4, 0x17b5 },   { 0x180b, 0x180f },
	{ 0x200b, 0x200f },   { 0x2028, 0x202e },   { 0x2060, 0x206f },
	{ 0x3164, 0x3164 },   { 0xfe00, 0xfe0f },   { 0xfeff, 0xfeff },
	{ 0xffa0, 0xffa0 },   { 0xfff0, 0xfffb },   { 0x1bca0, 0x1bca3 },
	{ 0x1d173, 0x1d17a }, { 0xe0000, 0xe0fff },
};

static bool is_unseen(const unsigned char *s, size_t n)
{
	uint32_t code = code_point(s, n);
	size_t i;

	for (i = 0; i < sizeof(unseen) / sizeof(unseen[0]); i++)
		if (code <= unseen[i].last)
			return code >= unseen[i].first;
	return false;
}

bool ow_view_is_control(const unsigned char *s, size_t *size)
{
	size_t n = ow_view_utf8_size(s);

	*size = n ? n : 1;
	return n == 0 || *s < ' ' || *s == 0x7f || (*s == 0xc2 && s[1] < 0xa0);
}

bool ow_view_is_odd(const unsigned char *s, size_t *size)
{
	return ow_view_is_control(s, size) ||
	       (*s >= 0x80 && is_unseen(s, *size));
}

/* Bytes at s that are ASCII and print. */
static size_t plain_size(const unsigned char *s)
{
	size_t n = 0;

	while (s[n] >= ' ' && s[n] < 0x7f)
		n++;
	return n;
}

/*
 * What is printed is many small pieces, by one thread: stdio's locks would take
 * longer than what they guard.
 */
void ow_view_put_clean(FILE *out, const char *text)
{
	const unsigned char *s = (const unsigned char *)text;
	size_t n = plain_size(s);

	fwrite_unlocked(s, 1, n, out);
	for (s += n; *s; s += n)
		if (ow_view_is_odd(s, &n))
			putc_unlocked('?', out);
		else
			fwrite_unlocked(s, 1, n, out);
}

void ow_view_put_clean_part(FILE *out, const char *text, size_t size)
{
	const unsigned char *s = (const unsigned char *)text, *end = s + size;
	size_t n;

	for (; s < end; s += n)
		if (*s == '\t' || !ow_view_is_odd(s, &n)) {
			n = *s == '\t' ? 1 : n;
			fwrite_unlocked(s, 1, n, out);
		} else {
			putc_unlocked('?', out);
		}
}

const char *ow_view_line(const char *lines, char *buf, size_t size)
{
	size_t n = strcspn(lines, "\n");

	snprintf(buf, size, "%.*s", (int)n, lines);
	return lines + n + (lines[n] == '\n');
}

#define HEX_DIGITS  16 /* of 64 bits */
#define MOST_DIGITS 20 /* of them in decimal */

static void fill_hex(char *to, uint64_t value)
{
	size_t i;

	for (i = HEX_DIGITS; i-- > 0; value >>= 4)
		to[i] = "0123456789abcdef"[value & 0xf];
}

void ow_view_put_hex(FILE *out, uint64_t value)
{
	char text[2 + HEX_DIGITS], *end = text + sizeof(text), *at = text + 2;

	fill_hex(at, value);
	while (at < end - 1 && *at == '0')
		at++;
	if (value) {
		*--at = 'x';
		*--at = '0';
	}
	fwrite_unlocked(at, 1, end - at, out);
}

void ow_view_put_digits(FILE *out, uint64_t value)
{
	char text[HEX_DIGITS];

	fill_hex(text, value);
	fwrite_unlocked(text, 1, sizeof(text), out);
}

/* The number n, at least three columns wide; return its size. */
static size_t fill_number(char *to, size_t n)
{
	char digits[MOST_DIGITS];
	size_t nr = 0, size = 0;

	do {
		digits[nr++] = (char)('0' + n % 10);
		n /= 10;
	} while (n > 0);
	while (nr > 0)
		to[size++] = digits[--nr];
	while (size < 3)
		to[size++] = ' ';
	return size;
}

void ow_view_put_place(FILE *out, size_t n, uint64_t pc)
{
	char text[1 + MOST_DIGITS + 3 + HEX_DIGITS], *at = text;

	*at++ = '#';
	at += fill_number(at, n);
	*at++ = ' ';
	*at++ = '0';
	*at++ = pc ? 'x' : '0';
	fill_hex(at, pc);
	fwrite_unlocked(text, 1, at + HEX_DIGITS - text, out);
}

int ow_view_digits(const struct ow_view *view)
{
	size_t i;

	for (i = 0; i < view->nr; i++)
		if ((view->frames[i].frame.pc | view->frames[i].frame.sp) >> 32)
			return 16;
	return 8;
}

bool ow_view_is_return(const struct ow_frame *frame)
{
	return frame->flags & OW_FRAME_RETURN &&
	       !(frame->flags & OW_FRAME_SIGNAL);
}

const struct ow_view_writer *ow_view_writer_find(const char *name)
{
	static const struct ow_view_writer *const writers[] = {
		&ow_text_writer, &ow_json_writer, &ow_folded_writer,
		&ow_eu_writer,   &ow_gdb_writer,  &ow_tbtext_writer,
	};
	size_t i;

	if (strcmp(name, "outwind") == 0)
		return &ow_text_writer;
	for (i = 0; i < sizeof(writers) / sizeof(writers[0]); i++)
		if (strcmp(writers[i]->name, name) == 0)
			return writers[i];
	return NULL;
}

const char *ow_view_abi(enum ow_call_abi abi)
{
	static const char *const names[] = {
		[OW_CALL_I386] = "i386",
		[OW_CALL_X86_64] = "x86-64",
		[OW_CALL_X32] = "x32",
		[OW_CALL_UNKNOWN] = "unknown",
	};

	return names[abi];
}

const char *ow_view_unnamed(const char *module, uint64_t start, uint64_t pc,
			    char *buf)
{
	const char *base = module ? strrchr(module, '/') : NULL;

	if (!module || !*module) {
		snprintf(buf, OW_VIEW_LABEL, "%#llx", (unsigned long long)pc);
		return buf;
	}
	base = base ? base + 1 : module;
	/* A file of a target may be called as what is none, "[vdso]". */
	if (start && *base != '[')
		snprintf(buf, OW_VIEW_LABEL, "%.255s+%#llx", base,
			 (unsigned long long)start);
	else
		snprintf(buf, OW_VIEW_LABEL,
			 *module == '[' ? "%.255s" : "[%.255s]", base);
	return buf;
}
