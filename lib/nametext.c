// SPDX-License-Identifier: BSD-2-Clause
#include "nametext.h"

#include <stdlib.h>
#include <string.h>

#include "budget.h"

/* There may be many: 12 bytes each. */
struct symbol {
	uint64_t addr;
	uint32_t name; /* where it is in the text */
} __attribute__((packed, aligned(4)));

/* A symbol, and room to sort it. */
#define BYTES_EACH (2 * sizeof(struct symbol))

struct ow_nametext {
	char *text;             /* names point into it, terminated */
	struct symbol *symbols; /* by address; aliases of those behind them */
	size_t nr, nr_all;
	size_t own; /* bytes taken from the budget */
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
	uint64_t value;

	if (!take_word(&line, end, &addr, &addr_size) ||
	    !parse_hex(addr, addr_size, &value) ||
	    !take_word(&line, end, &type, &type_size) || type_size != 1 ||
	    !take_word(&line, end, &name, &name_size))
		return;
	name[name_size] = '\0';
	t->symbols[t->nr++] =
		(struct symbol){ value, (uint32_t)(name - t->text) };
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
static bool is_better(const struct ow_nametext *t, const struct symbol *later,
		      const struct symbol *s, enum ow_aliases aliases)
{
	return aliases == OW_ALIASES_LAST ||
	       strspn(t->text + later->name, "_") <
		       strspn(t->text + s->name, "_");
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
		else if (is_better(t, &t->symbols[i], &t->symbols[kept - 1],
				   aliases))
			swap(&t->symbols[kept - 1], &t->symbols[i]);
	}
	t->nr_all = t->nr;
	t->nr = kept;
}

/* How many lines there are, and memory for; the last one need not end. */
static size_t count_lines(const struct ow_nametext *t,
			  const struct ow_text *text)
{
	size_t most = ow_budget_share(t->own) / BYTES_EACH, nr = 1;
	const char *end = text->bytes + text->size, *pos = text->bytes;

	while (nr <= most && (pos = memchr(pos, '\n', (size_t)(end - pos)))) {
		pos++;
		nr++;
	}
	if (nr <= most)
		return nr;
	ow_budget_refuse(text->path, "some of its lines");
	return most;
}

/* Give back what is not taken of the room for symbols, and was to sort them by. */
static void trim(struct ow_nametext *t, size_t room)
{
	size_t size = t->nr_all * sizeof(*t->symbols);
	void *less = realloc(t->symbols, size + 1);

	if (less)
		t->symbols = less;
	ow_budget_give(&t->own, room * BYTES_EACH - size);
}

static bool parse(struct ow_nametext *t, const struct ow_text *text,
		  enum ow_aliases aliases)
{
	char *end = t->text + text->size, *pos, *next;
	size_t nr = count_lines(t, text), i;

	*end = '\n';
	if (!ow_budget_take(&t->own, nr * BYTES_EACH))
		return false;
	t->symbols = malloc(nr * sizeof(*t->symbols) + 1);
	if (!t->symbols)
		return false;
	for (pos = t->text, i = 0; pos < end && i < nr; pos = next + 1, i++) {
		next = memchr(pos, '\n', end - pos + 1);
		take_line(t, pos, next);
	}
	sort(t);
	part_aliases(t, aliases);
	trim(t, nr);
	return true;
}

struct ow_nametext *ow_nametext_create(const struct ow_text *text,
				       enum ow_aliases aliases)
{
	struct ow_nametext *t = calloc(1, sizeof(*t));
	size_t own = text->own;

	if (!t) {
		free(text->bytes);
		ow_budget_give(&own, own);
		return NULL;
	}
	t->text = text->bytes;
	t->own = own;
	if (parse(t, text, aliases))
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
	*name_ret = t->text + t->symbols[low - 1].name;
	*offset_ret = addr - t->symbols[low - 1].addr;
	return true;
}

bool ow_nametext_address(const struct ow_nametext *t, const char *name,
			 uint64_t *ret)
{
	for (size_t i = 0; i < t->nr_all; i++)
		if (strcmp(t->text + t->symbols[i].name, name) == 0) {
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
	ow_budget_give(&t->own, t->own);
	free(t);
}
