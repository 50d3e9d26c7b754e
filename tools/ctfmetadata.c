// SPDX-License-Identifier: BSD-2-Clause
#include "ctfmetadata.h"

#include <ctype.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* CTF 1.8.3, 7.1: the header of a packet of metadata. */
#define MAGIC       0x75d11d57u
#define HEADER_SIZE 37
#define CONTENT_AT  24 /* content_size, packet_size: in bits */

#define MAX_TEXT 65536 /* of metadata, in which its environment is */

static uint32_t swap_if(bool other, uint32_t v)
{
	return other ? __builtin_bswap32(v) : v;
}

/*
 * Step over the packet at *at, whose text is of so many bytes; false: it is none, or
 * not whole.
 */
static bool skip_packet(FILE *in, uint64_t *at, uint64_t size, size_t *text_ret)
{
	uint32_t magic, sizes[2];
	uint8_t header[HEADER_SIZE];
	bool other;

	if (fseeko(in, (off_t)*at, SEEK_SET) ||
	    fread(header, sizeof(header), 1, in) != 1)
		return false;
	memcpy(&magic, header, sizeof(magic));
	memcpy(sizes, header + CONTENT_AT, sizeof(sizes));
	other = magic == __builtin_bswap32(MAGIC);
	sizes[0] = swap_if(other, sizes[0]);
	sizes[1] = swap_if(other, sizes[1]);
	if ((magic != MAGIC && !other) || sizes[0] % 8 || sizes[1] % 8 ||
	    sizes[0] / 8 < HEADER_SIZE || sizes[0] > sizes[1] ||
	    sizes[1] / 8 > size - *at)
		return false;
	*at += sizes[1] / 8;
	*text_ret = sizes[0] / 8 - HEADER_SIZE;
	return true;
}

/* Plain text has no packets. */
static bool has_packets(FILE *in)
{
	uint32_t magic;

	return fread(&magic, sizeof(magic), 1, in) == 1 &&
	       (magic == MAGIC || magic == __builtin_bswap32(MAGIC));
}

static bool check(FILE *in, uint64_t size)
{
	uint64_t at = 0;
	size_t text;

	if (!has_packets(in))
		return true;
	while (at < size)
		if (!skip_packet(in, &at, size, &text))
			return false;
	return true;
}

/* The metadata of a folder; *st_ret is filled.  NULL: errno. */
static FILE *open_metadata(const char *folder, struct stat *st_ret)
{
	char path[4096];
	FILE *in;

	if (snprintf(path, sizeof(path), "%s/metadata", folder) >=
	    (int)sizeof(path)) {
		errno = ENAMETOOLONG;
		return NULL;
	}
	in = fopen(path, "r");
	if (in && fstat(fileno(in), st_ret)) {
		fclose(in);
		in = NULL;
	}
	return in;
}

bool ctf_metadata_check(const char *folder, const char *name, char *why,
			size_t size)
{
	struct stat st;
	FILE *in = open_metadata(folder, &st);
	bool well;

	if (!in && errno == ENAMETOOLONG)
		return true;
	if (!in) {
		snprintf(why, size, "open %s/metadata: %s", name,
			 strerror(errno));
		return false;
	}
	well = check(in, (uint64_t)st.st_size);
	if (!well)
		snprintf(why, size, "%s/metadata: a packet of it is cut short",
			 name);
	fclose(in);
	return well;
}

/* --- the environment --- */

struct token {
	const char *at; /* of a string, behind the quotation mark */
	size_t size;
	char kind; /* 'a' a word, '"' a string, '\0' the end, or what it is itself */
};

/* Step over blanks and comments. */
static const char *skip_blanks(const char *at)
{
	const char *end;

	for (;; at = end) {
		at += strspn(at, " \t\r\n");
		if (strncmp(at, "/*", 2) == 0) {
			end = strstr(at + 2, "*/");
			end = end ? end + 2 : strchr(at, '\0');
		} else if (strncmp(at, "//", 2) == 0) {
			end = at + strcspn(at, "\n");
		} else {
			return at;
		}
	}
}

/* What begins behind a quotation mark, up to the next one. */
static size_t string_size(const char *at)
{
	size_t i;

	for (i = 0; at[i] && at[i] != '"'; i++)
		if (at[i] == '\\' && at[i + 1])
			i++;
	return i;
}

static size_t word_size(const char *at)
{
	size_t i = 0;

	while (isalnum((unsigned char)at[i]) || at[i] == '_')
		i++;
	return i;
}

/* The next token; return what is behind it. */
static const char *next(const char *at, struct token *t)
{
	at = skip_blanks(at);
	*t = (struct token){ at, word_size(at), 'a' };
	if (t->size > 0)
		return at + t->size;
	t->kind = *at;
	t->size = *at != '\0';
	if (*at != '"')
		return at + t->size;
	t->at = at + 1;
	t->size = string_size(t->at);
	at = t->at + t->size;
	return at + (*at == '"');
}

static bool is(const struct token *t, char kind, const char *text)
{
	return t->kind == kind && t->size == strlen(text) &&
	       memcmp(t->at, text, t->size) == 0;
}

/* Go behind the "{" of the environment; NULL: there is none. */
static const char *find_environment(const char *at)
{
	struct token t, before = { 0 };
	size_t depth = 0;

	for (;; before = t) {
		at = next(at, &t);
		if (t.kind == '\0')
			return NULL;
		if (t.kind == '{' && depth++ == 0 && is(&before, 'a', "env"))
			return at;
		if (t.kind == '}' && depth > 0)
			depth--;
	}
}

/* What "domain" is in there; false: nothing. */
static bool find_domain(const char *at, struct token *ret)
{
	struct token name, sign;

	do {
		at = next(at, &name);
		if (!is(&name, 'a', "domain"))
			continue;
		at = next(next(at, &sign), ret);
		return sign.kind == '=' && ret->kind == '"';
	} while (name.kind != '}' && name.kind != '\0');
	return false;
}

/* Read the text of packets, or of what has none. */
static void read_text(FILE *in, uint64_t size, char text[MAX_TEXT + 1])
{
	bool has = has_packets(in), is_more = true;
	uint64_t at = 0, begin;
	size_t nr = 0, part = 0;

	rewind(in);
	if (!has)
		nr = fread(text, 1, MAX_TEXT, in);
	while (has && is_more && nr < MAX_TEXT && at < size) {
		begin = at;
		is_more = skip_packet(in, &at, size, &part) &&
			  fseeko(in, (off_t)(begin + HEADER_SIZE), SEEK_SET) ==
				  0;
		if (part > MAX_TEXT - nr)
			part = MAX_TEXT - nr;
		if (is_more)
			nr += fread(text + nr, 1, part, in);
	}
	text[nr] = '\0';
}

bool ctf_metadata_is_users(const char *folder)
{
	char *text = malloc(MAX_TEXT + 1);
	struct token domain;
	const char *env;
	struct stat st;
	FILE *in = text ? open_metadata(folder, &st) : NULL;
	bool is_users = false;

	if (in) {
		read_text(in, (uint64_t)st.st_size, text);
		env = find_environment(text);
		is_users = env && find_domain(env, &domain) &&
			   !is(&domain, '"', "kernel");
		fclose(in);
	}
	free(text);
	return is_users;
}
