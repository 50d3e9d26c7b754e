// SPDX-License-Identifier: BSD-2-Clause
#include "nametext.h"

#include <stdlib.h>
#include <string.h>

#define SHORTEST_LINE (sizeof("0 T x\n") - 1)

struct symbol {
	uint64_t addr;
	const char *name;
};

struct ow_nametext {
	char *text;             /* names point into it, terminated */
	struct symbol *symbols; /* by address; aliases of those behind them */
	size_t nr, nr_all;
};

/* What is between words: nm(1) writes blanks, kallsyms a tab as well. */
static bool is_blank(char c)
{
	return c == '\0' || c == ' ' || c == '\t' || c == '\r' || c == '\v' ||
	       c == '\f';
}

static int digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c |= 0x20;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* The next word of a line that ends at end, or false. */
static bool take_word(char **pos, char *end, char **word_ret, size_t *size_ret)
{
	char *p = *pos;

	while (p < end && is_blank(*p))
		p++;
	*word_ret = p;
	while (p < end && !is_blank(*p))
		p++;
	*size_ret = p - *word_ret;
	*pos = p;
	return *size_ret > 0;
}

/* All of a word as a number of at most 64 bits. */
static bool parse_hex(const char *word, size_t size, uint64_t *ret)
{
	uint64_t value = 0;

	if (size > 2 && word[0] == '0' && (word[1] | 0x20) == 'x') {
		word += 2;
		size -= 2;
	}
	for (size_t i = 0; i < size; i++) {
		if (digit(word[i]) < 0 || value >> 60)
			return false;
		value = value << 4 | digit(word[i]);
	}
	*ret = value;
	return true;
}

/* *end is the newline, or the room behind the text. */
static void take_line(struct ow_nametext *t, char *line, char *end)
{
	char *addr, *type, *name;
	size_t addr_size, type_size, name_size;
	struct symbol *s = &t->symbols[t->nr];

	if (!take_word(&line, end, &addr, &addr_size) ||
	    !parse_hex(addr, addr_size, &s->addr) ||
	    !take_word(&line, end, &type, &type_size) || type_size != 1 ||
	    !take_word(&line, end, &name, &name_size))
		return;
	name[name_size] = '\0';
	s->name = name;
	t->nr++;
}

/* By address; at one address in the order of the text, as names are in it. */
static int compare(const void *a, const void *b)
{
	const struct symbol *s = a, *t = b;

	if (s->addr != t->addr)
		return s->addr < t->addr ? -1 : 1;
	return (s->name > t->name) - (s->name < t->name);
}

/* kallsyms is long, and mostly in order. */
static void sort(struct ow_nametext *t)
{
	for (size_t i = 1; i < t->nr; i++)
		if (compare(&t->symbols[i - 1], &t->symbols[i]) > 0) {
			qsort(t->symbols, t->nr, sizeof(*t->symbols), compare);
			return;
		}
}

/* Does the later one of two aliases name their address? */
static bool is_better(const struct symbol *later, const struct symbol *s,
		      enum ow_aliases aliases)
{
	return aliases == OW_ALIASES_LAST ||
	       strspn(later->name, "_") < strspn(s->name, "_");
}

static void swap(struct symbol *a, struct symbol *b)
{
	struct symbol c = *a;

	*a = *b;
	*b = c;
}

/*
 * One of aliases stays, the others go to the end.  kallsyms without permission
 * is 0 throughout.
 */
static void part_aliases(struct ow_nametext *t, enum ow_aliases aliases)
{
	size_t kept = 0;

	if (t->nr > 1 && t->symbols[t->nr - 1].addr == 0)
		t->nr = 0;
	for (size_t i = 0; i < t->nr; i++) {
		if (!kept || t->symbols[kept - 1].addr != t->symbols[i].addr)
			swap(&t->symbols[kept++], &t->symbols[i]);
		else if (is_better(&t->symbols[i], &t->symbols[kept - 1],
				   aliases))
			swap(&t->symbols[kept - 1], &t->symbols[i]);
	}
	t->nr_all = t->nr;
	t->nr = kept;
}

static bool parse(struct ow_nametext *t, size_t size, enum ow_aliases aliases)
{
	char *end = t->text + size, *pos, *next;

	*end = '\n';
	t->symbols = calloc(size / SHORTEST_LINE + 1, sizeof(*t->symbols));
	if (!t->symbols)
		return false;
	for (pos = t->text; pos < end; pos = next + 1) {
		next = memchr(pos, '\n', end - pos + 1);
		take_line(t, pos, next);
	}
	sort(t);
	part_aliases(t, aliases);
	return true;
}

struct ow_nametext *ow_nametext_create(char *text, size_t size,
				       enum ow_aliases aliases)
{
	struct ow_nametext *t = calloc(1, sizeof(*t));

	if (!t) {
		free(text);
		return NULL;
	}
	t->text = text;
	if (parse(t, size, aliases))
		return t;
	ow_nametext_destroy(t);
	return NULL;
}

size_t ow_nametext_nr(const struct ow_nametext *t)
{
	return t->nr;
}

bool ow_nametext_find(const struct ow_nametext *t, uint64_t addr,
		      const char **name_ret, uint64_t *offset_ret)
{
	size_t low = 0, high = t->nr;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (t->symbols[mid].addr <= addr)
			low = mid + 1;
		else
			high = mid;
	}
	if (low == 0)
		return false;
	*name_ret = t->symbols[low - 1].name;
	*offset_ret = addr - t->symbols[low - 1].addr;
	return true;
}

bool ow_nametext_address(const struct ow_nametext *t, const char *name,
			 uint64_t *ret)
{
	for (size_t i = 0; i < t->nr_all; i++)
		if (strcmp(t->symbols[i].name, name) == 0) {
			*ret = t->symbols[i].addr;
			return true;
		}
	return false;
}

void ow_nametext_destroy(struct ow_nametext *t)
{
	if (!t)
		return;
	free(t->symbols);
	free(t->text);
	free(t);
}
