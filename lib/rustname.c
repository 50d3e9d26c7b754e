// SPDX-License-Identifier: BSD-2-Clause
#include "rustname.h"

#include <ctype.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define DEEPEST   4096 /* parts that are begun; demanglers end at 1024 */
#define BASICS    "abcdefhijlmnopstuvxyz" /* types of one letter */
#define INTEGERS  "ahijlmnostxy"          /* of these, integers */
#define NIBBLES   "0123456789abcdef"
#define MOST_ELSE ((size_t)-1)

/* What is to come next. */
enum part {
	PATH,
	TYPE,
	CONST,
	IDENTIFIER, /* with a disambiguator, or without */
	ARGUMENTS,  /* up to E: of a generic path */
	TYPES,      /* likewise: of a tuple or function */
	TRAITS,     /* likewise: of a trait object */
	BINDINGS,   /* of a trait: as many as there are */
	LIFETIME,
};

struct scan {
	const char *begin, *at;
	uint8_t parts[DEEPEST];
	size_t depth;
	bool starts[OW_RUSTNAME_MAX]; /* where paths, types or constants begin */
};

static bool eat(struct scan *s, char c)
{
	if (*s->at != c)
		return false;
	s->at++;
	return true;
}

/* Expect a part, after those that are expected later. */
static bool expect(struct scan *s, enum part part)
{
	if (s->depth == DEEPEST)
		return false;
	s->parts[s->depth++] = (uint8_t)part;
	return true;
}

/* Pass a base-62 number and its underscore; its value is MOST_ELSE if it is large. */
static bool pass_number(struct scan *s, size_t *value)
{
	size_t sum = 0, digit;

	*value = 0;
	if (eat(s, '_'))
		return true;
	for (; isalnum((unsigned char)*s->at); s->at++) {
		digit = isdigit((unsigned char)*s->at) ? *s->at - '0' :
			islower((unsigned char)*s->at) ? *s->at - 'a' + 10 :
							 *s->at - 'A' + 36;
		sum = sum < OW_RUSTNAME_MAX ? 62 * sum + digit : sum;
	}
	*value = sum < OW_RUSTNAME_MAX ? sum + 1 : MOST_ELSE;
	return eat(s, '_');
}

/* Pass a number, where its tag says that there is one. */
static bool pass_tagged(struct scan *s, char tag)
{
	size_t value;

	return !eat(s, tag) || pass_number(s, &value);
}

/*
 * Pass a reference to where a part begins that is passed, or is being passed: to read that
 * again, as whatever part, comes to no identifier that is not passed with it.
 */
static bool pass_reference(struct scan *s)
{
	size_t value;

	return pass_number(s, &value) && value < OW_RUSTNAME_MAX &&
	       s->starts[value];
}

/* Pass an identifier; false if it is in Punycode. */
static bool pass_identifier(struct scan *s)
{
	size_t size = 0;

	if (!isdigit((unsigned char)*s->at))
		return false;
	if (!eat(s, '0'))
		for (; isdigit((unsigned char)*s->at); s->at++) {
			size = 10 * size + (size_t)(*s->at - '0');
			if (size > OW_RUSTNAME_MAX)
				return false;
		}
	eat(s, '_');
	if (strnlen(s->at, size) < size)
		return false;
	s->at += size;
	return true;
}

static bool pass_value(struct scan *s)
{
	s->at += strspn(s->at, NIBBLES);
	return eat(s, '_');
}

static bool is_one_of(char c, const char *all)
{
	return c && strchr(all, c);
}

static bool pass_const(struct scan *s)
{
	char tag = *s->at;

	if (!tag)
		return false;
	s->at++;
	if (tag == 'p')
		return true;
	if (tag == 'B')
		return pass_reference(s);
	if (is_one_of(tag, INTEGERS))
		eat(s, 'n');
	else if (tag != 'b' && tag != 'c')
		return false;
	return pass_value(s);
}

static bool pass_path(struct scan *s)
{
	switch (*s->at++) {
	case 'C': return expect(s, IDENTIFIER);
	case 'N':
		return isalpha((unsigned char)*s->at++) &&
		       expect(s, IDENTIFIER) && expect(s, PATH);
	case 'M':
		return pass_tagged(s, 's') && expect(s, TYPE) &&
		       expect(s, PATH);
	case 'X':
		return pass_tagged(s, 's') && expect(s, PATH) &&
		       expect(s, TYPE) && expect(s, PATH);
	case 'Y': return expect(s, PATH) && expect(s, TYPE);
	case 'I': return expect(s, ARGUMENTS) && expect(s, PATH);
	case 'B': return pass_reference(s);
	default: return false;
	}
}

static bool pass_function(struct scan *s)
{
	if (!pass_tagged(s, 'G'))
		return false;
	eat(s, 'U');
	if (eat(s, 'K') && !eat(s, 'C') && !pass_identifier(s))
		return false;
	return expect(s, TYPE) && expect(s, TYPES);
}

static bool pass_type(struct scan *s)
{
	char tag = *s->at;

	if (!is_one_of(tag, BASICS "RQPOSATFDB"))
		return expect(s, PATH);
	s->at++;
	switch (tag) {
	case 'R':
	case 'Q': return pass_tagged(s, 'L') && expect(s, TYPE);
	case 'P':
	case 'O':
	case 'S': return expect(s, TYPE);
	case 'A': return expect(s, CONST) && expect(s, TYPE);
	case 'T': return expect(s, TYPES);
	case 'F': return pass_function(s);
	case 'D':
		return pass_tagged(s, 'G') && expect(s, LIFETIME) &&
		       expect(s, TRAITS);
	case 'B': return pass_reference(s);
	default: return true;
	}
}

static bool pass_argument(struct scan *s)
{
	if (eat(s, 'E'))
		return true;
	if (!expect(s, ARGUMENTS))
		return false;
	if (*s->at == 'L')
		return pass_tagged(s, 'L');
	return expect(s, eat(s, 'K') ? CONST : TYPE);
}

/* Another part of a list that ends with E. */
static bool pass_listed(struct scan *s, enum part list, enum part of)
{
	return eat(s, 'E') || (expect(s, list) && expect(s, of));
}

static bool pass_binding(struct scan *s)
{
	return !eat(s, 'p') ||
	       (pass_identifier(s) && expect(s, BINDINGS) && expect(s, TYPE));
}

static bool pass_part(struct scan *s, enum part part)
{
	if (part == PATH || part == TYPE || part == CONST)
		s->starts[s->at - s->begin] = true;
	switch (part) {
	case PATH: return pass_path(s);
	case TYPE: return pass_type(s);
	case CONST: return pass_const(s);
	case IDENTIFIER: return pass_tagged(s, 's') && pass_identifier(s);
	case ARGUMENTS: return pass_argument(s);
	case TYPES: return pass_listed(s, TYPES, TYPE);
	case TRAITS:
		return eat(s, 'E') || (expect(s, TRAITS) &&
				       expect(s, BINDINGS) && expect(s, PATH));
	case BINDINGS: return pass_binding(s);
	case LIFETIME: return *s->at == 'L' && pass_tagged(s, 'L');
	}
	return false;
}

/* Pass a path with all that is in it; each part takes a character or is the last of some. */
static bool pass_all(struct scan *s)
{
	bool good = expect(s, PATH);

	while (good && s->depth > 0)
		good = pass_part(s, s->parts[--s->depth]);
	return good;
}

static bool is_at_end(const struct scan *s)
{
	return *s->at == '\0' || *s->at == '.';
}

/* Return true if there are letters as Punycode begins with. */
static bool has_mark(const char *name)
{
	for (; *name; name++)
		if (*name == 'u' && isdigit((unsigned char)name[1]))
			return true;
	return false;
}

bool ow_rustname_may_be_punycode(const char *name)
{
	struct scan s;

	if (!has_mark(name))
		return false;
	s = (struct scan){ .begin = name + strlen("_R") };
	if (strnlen(name, OW_RUSTNAME_MAX) == OW_RUSTNAME_MAX)
		return true;
	s.at = s.begin;
	if (!pass_all(&s))
		return true;
	/* A crate may follow. */
	return !is_at_end(&s) && (!pass_all(&s) || !is_at_end(&s));
}
