// SPDX-License-Identifier: BSD-2-Clause
#include "nametable.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "error.h"
#include "object.h"

#define MOST_BYTES ((size_t)1 << 30)
#define CHUNK      65536
#define CODE       "tTwWiu" /* types of nm(1) that code may have */
#define LAST_REACH 65536    /* bytes behind the last symbol that may be its */

struct entry {
	uint64_t addr;
	const char *name; /* in text */
	uint32_t line;    /* to keep the order of those at one addr */
	char type;
};

struct ow_nametable {
	char *text; /* names end where blanks were */
	struct entry *entries;
	size_t nr, room;
};

static int order(const void *a, const void *b)
{
	const struct entry *x = a, *y = b;

	if (x->addr != y->addr)
		return x->addr < y->addr ? -1 : 1;
	return (x->line > y->line) - (x->line < y->line);
}

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r';
}

/* The next word of a line, terminated; NULL at its end. */
static char *next_word(char **at)
{
	char *word = *at, *end;

	while (is_blank(*word))
		word++;
	for (end = word; *end && !is_blank(*end);)
		end++;
	*at = *end ? end + 1 : end;
	*end = '\0';
	return *word ? word : NULL;
}

static bool parse_hex(const char *text, uint64_t *ret)
{
	size_t n = strspn(text, "0123456789abcdefABCDEF");

	if (n == 0 || n > 16 || text[n])
		return false;
	*ret = strtoull(text, NULL, 16);
	return true;
}

/* What is no symbol is left out; false: out of memory. */
static bool take_line(struct ow_nametable *t, char *line, uint32_t number)
{
	char *addr = next_word(&line), *type = next_word(&line);
	char *name = next_word(&line);
	struct entry e = { .line = number }, *more;

	if (!name || type[1] || !parse_hex(addr, &e.addr))
		return true;
	e.type = type[0];
	e.name = name;
	if (t->nr == t->room) {
		t->room = 2 * t->room + 256;
		more = realloc(t->entries, t->room * sizeof(*more));
		if (!more)
			return false;
		t->entries = more;
	}
	t->entries[t->nr++] = e;
	return true;
}

static bool take_lines(struct ow_nametable *t, size_t size)
{
	char *line = t->text, *end = line + size, *newline;
	uint32_t number = 0;

	for (; line < end; line = newline + 1) {
		newline = memchr(line, '\n', (size_t)(end - line));
		if (!newline)
			newline = end; /* where a NUL stands */
		*newline = '\0';
		if (!take_line(t, line, number++))
			return false;
	}
	return true;
}

/* Without the right to see addresses, the kernel tells zeros. */
static bool has_addresses(const struct ow_nametable *t)
{
	return t->nr > 0 && t->entries[t->nr - 1].addr != 0;
}

/* Takes the text over; a byte of room is behind its size. */
static struct ow_nametable *make(char *text, size_t size, const char *path,
				 struct ow_error *err)
{
	struct ow_nametable *t = calloc(1, sizeof(*t));

	if (!t) {
		free(text);
		ow_fail(err, OW_CODE_MEMORY, "out of memory");
		return NULL;
	}
	t->text = text;
	text[size] = '\0';
	if (!take_lines(t, size)) {
		ow_fail(err, OW_CODE_MEMORY, "out of memory");
		ow_nametable_close(t);
		return NULL;
	}
	if (t->nr)
		qsort(t->entries, t->nr, sizeof(*t->entries), order);
	if (has_addresses(t))
		return t;
	ow_fail(err, OW_CODE_FORMAT,
		t->nr ? "%s: all addresses are 0: not allowed to see them?" :
			"%s: no symbols in it: not a table as nm -n prints",
		path);
	ow_nametable_close(t);
	return NULL;
}

struct ow_nametable *ow_nametable_parse(const char *bytes, size_t size,
					const char *path, struct ow_error *err)
{
	char *text = malloc(size + 1);

	if (!text) {
		ow_fail(err, OW_CODE_MEMORY, "out of memory");
		return NULL;
	}
	memcpy(text, bytes, size);
	return make(text, size, path, err);
}

/* Files of /proc don't tell their size. */
static char *read_all(int fd, size_t *size_ret)
{
	char *text = NULL, *more;
	size_t size = 0, room = 0;
	ssize_t n = 1;

	while (n > 0 && size < MOST_BYTES) {
		if (room - size < CHUNK) {
			room = 2 * room + CHUNK + 1;
			more = realloc(text, room);
			if (!more)
				break;
			text = more;
		}
		n = read(fd, text + size, room - size - 1);
		if (n > 0)
			size += (size_t)n;
	}
	*size_ret = size;
	if (n == 0)
		return text;
	free(text);
	return NULL;
}

struct ow_nametable *ow_nametable_open(const char *path, struct ow_error *err)
{
	_cleanup_(ow_closep) int fd = ow_open_regular(path);
	size_t size;
	char *text = fd < 0 ? NULL : read_all(fd, &size);

	if (text)
		return make(text, size, path, err);
	ow_fail(err, OW_CODE_SYSTEM, "read %s", path);
	return NULL;
}

bool ow_nametable_find(const struct ow_nametable *t, uint64_t addr,
		       struct ow_symbol *ret)
{
	size_t low = 0, high = t->nr, mid;
	const struct entry *e;
	uint64_t size;

	while (low < high) {
		mid = low + (high - low) / 2;
		if (t->entries[mid].addr <= addr)
			low = mid + 1;
		else
			high = mid;
	}
	if (low == 0)
		return false;
	e = &t->entries[low - 1];
	size = low < t->nr ? e[1].addr - e->addr : LAST_REACH;
	if (!strchr(CODE, e->type) || addr - e->addr >= size)
		return false;
	*ret = (struct ow_symbol){ e->name, e->addr, size };
	return true;
}

bool ow_nametable_address(const struct ow_nametable *t, const char *name,
			  uint64_t *ret)
{
	size_t i;

	for (i = 0; i < t->nr; i++)
		if (strcmp(t->entries[i].name, name) == 0) {
			*ret = t->entries[i].addr;
			return true;
		}
	return false;
}

void ow_nametable_close(struct ow_nametable *t)
{
	if (!t)
		return;
	free(t->text);
	free(t->entries);
	free(t);
}
