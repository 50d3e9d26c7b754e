// SPDX-License-Identifier: BSD-2-Clause
#include "perfmap.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "error.h"
#include "perfplace.h"
#include "spans.h"

#define LINES_MAX ((size_t)4 << 20)
#define STEPS_MAX 65536 /* back to lines that cover an address */

struct code {
	struct ow_span span; /* first */
	const char *name;    /* of two that overlap, the later holds */
};

struct ow_perfmap {
	char *path;
	char *text; /* names point into it */
	struct code *codes;
	size_t nr;
};

/* A hexadecimal number at *pos and the space behind it. */
static bool take_hex(char **pos, const char *end, uint64_t *ret)
{
	static const char digits[] = "0123456789abcdef";
	uint64_t value = 0;
	char *p = *pos;

	if (end - p > 2 && p[0] == '0' && (p[1] | 0x20) == 'x')
		p += 2;
	for (const char *start = p;; p++) {
		const char *d;

		if (p == end)
			return false;
		d = *p ? strchr(digits,
				*p >= 'A' && *p <= 'F' ? *p | 0x20 : *p) :
			 NULL;
		if (!d) {
			*pos = p + 1;
			*ret = value;
			return p > start && p - start <= 16 && *p == ' ';
		}
		value = value << 4 | (uint64_t)(d - digits);
	}
}

/* Lines that make no sense are no code; JITs write while we read. */
static void take_line(struct ow_perfmap *map, char *line, char *end)
{
	uint64_t start, size;

	*end = '\0';
	if (end > line && end[-1] == '\r')
		end[-1] = '\0';
	if (!take_hex(&line, end, &start) || !take_hex(&line, end, &size) ||
	    size == 0 || start + size < start || !*line)
		return;
	map->codes[map->nr] = (struct code){
		.span = { start, start + size, 0 },
		.name = line,
	};
	map->nr++;
}

static int compare(const void *a, const void *b)
{
	const struct code *c = a, *d = b;

	if (c->span.start != d->span.start)
		return c->span.start < d->span.start ? -1 : 1;
	return c->name < d->name ? -1 : 1;
}

static struct ow_spans spans_of(const struct ow_perfmap *map)
{
	return (struct ow_spans){ map->codes, map->nr, sizeof(*map->codes),
				  STEPS_MAX };
}

/* text has size bytes and room for one more. */
static bool parse(struct ow_perfmap *map, size_t size)
{
	char *end = map->text + size, *pos, *next;
	struct ow_spans spans;
	size_t lines = 1;

	*end = '\n';
	for (pos = map->text; pos < end && lines < LINES_MAX; pos++)
		lines += *pos == '\n';
	map->codes = calloc(lines, sizeof(*map->codes));
	if (!map->codes)
		return false;
	for (pos = map->text; pos < end && map->nr < lines; pos = next + 1) {
		next = memchr(pos, '\n', end - pos + 1);
		take_line(map, pos, next);
	}
	qsort(map->codes, map->nr, sizeof(*map->codes), compare);
	spans = spans_of(map);
	ow_spans_link(&spans);
	return true;
}

/* Takes text over, also on failure. */
static struct ow_perfmap *create(char *text, size_t size, const char *path)
{
	struct ow_perfmap *map = calloc(1, sizeof(*map));

	if (!map) {
		free(text);
		return NULL;
	}
	map->text = text;
	map->path = strdup(path);
	if (map->path && parse(map, size))
		return map;
	ow_perfmap_close(map);
	return NULL;
}

struct ow_perfmap *ow_perfmap_parse(const char *bytes, size_t size,
				    const char *path)
{
	char *text = malloc(size + 1);

	if (!text)
		return NULL;
	memcpy(text, bytes, size);
	return create(text, size, path);
}

/* Not mapped: its owner may cut the file off at any time. */
static char *read_all(int fd, size_t size, size_t *size_ret)
{
	char *text = malloc(size + 1);
	size_t used = 0;
	ssize_t n;

	if (!text)
		return NULL;
	while (used < size && (n = read(fd, text + used, size - used)) > 0)
		used += n;
	*size_ret = used;
	return text;
}

static struct ow_perfmap *read_map(int fd, const char *path)
{
	struct stat st;
	size_t size;
	char *text;

	if (fstat(fd, &st))
		return NULL;
	size = (uint64_t)st.st_size < OW_PERFMAP_MAX ? (size_t)st.st_size :
						       OW_PERFMAP_MAX;
	text = read_all(fd, size, &size);
	return text ? create(text, size, path) : NULL;
}

struct ow_perfmap *ow_perfmap_open(pid_t pid)
{
	struct ow_perfmap *map = NULL;
	struct ow_perfplace place;
	char path[OW_PERFPLACE_PATH];
	int fd;

	if (!ow_perfplace_init(&place, pid))
		return NULL;
	fd = ow_perfplace_open(&place, path);
	if (fd >= 0) {
		map = read_map(fd, path);
		close(fd);
	}
	ow_perfplace_deinit(&place);
	return map;
}

/* Of two lines: was a the one that held when the first end bytes were all? */
static bool is_better(const struct ow_perfmap *map, const struct code *a,
		      const struct code *b, size_t end)
{
	bool a_was = (size_t)(a->name - map->text) < end;
	bool b_was = (size_t)(b->name - map->text) < end;

	if (a_was != b_was)
		return a_was;
	return a_was ? a->name > b->name : a->name < b->name;
}

bool ow_perfmap_find_as_of(const struct ow_perfmap *map, uint64_t addr,
			   size_t end, struct ow_symbol *ret)
{
	struct ow_spans spans = spans_of(map);
	const struct code *c, *found = NULL;
	size_t at = map->nr;

	while ((c = ow_spans_before(&spans, addr, &at)))
		if (!found || is_better(map, c, found, end))
			found = c;
	if (!found)
		return false;
	*ret = (struct ow_symbol){ found->name, found->span.start,
				   found->span.end - found->span.start };
	return true;
}

bool ow_perfmap_find(const struct ow_perfmap *map, uint64_t addr,
		     struct ow_symbol *ret)
{
	return ow_perfmap_find_as_of(map, addr, SIZE_MAX, ret);
}

const char *ow_perfmap_path(const struct ow_perfmap *map)
{
	return map->path;
}

void ow_perfmap_close(struct ow_perfmap *map)
{
	if (!map)
		return;
	free(map->path);
	free(map->text);
	free(map->codes);
	free(map);
}
