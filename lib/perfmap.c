// SPDX-License-Identifier: BSD-2-Clause
#include "perfmap.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "budget.h"
#include "error.h"
#include "leftout.h"
#include "perfplace.h"
#include "reach.h"

#define LINES_MAX ((size_t)4 << 20)
#define NAME_SIZE 4096 /* bytes: each frame that has a name costs its length */
#define NODES_MAX 64   /* that a line is listed in: two for each level */
#define READ_PART ((size_t)1 << 20)

/* Of two lines that cover an address, the later one holds. */
struct line {
	uint64_t start, end;
	const char *name;
};

/*
 * A segment tree.  bounds cut the addresses into nr_parts parts, which are its
 * leaves: part i is node nr_parts + i, and node n's parent is node n / 2.  A line
 * is listed in the few nodes that make up its addresses together, so that the
 * lines that cover an address are those of the nodes from its leaf upwards, and
 * stand in each node in the order of the file.
 */
struct tree {
	uint64_t *bounds; /* nr_parts + 1 */
	size_t nr_parts;
	uint32_t *begins; /* of node n in listed: from [n] to [n + 1] */
	uint32_t *listed; /* indexes of lines */
};

struct ow_perfmap {
	char *path;
	char *text; /* names point into it */
	struct line *lines;
	size_t nr;
	struct tree tree;
	struct ow_owner own;
};

/* A hexadecimal number at *pos and the space after it. */
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
	if ((size_t)(end - line) > NAME_SIZE)
		line[NAME_SIZE] = '\0';
	map->lines[map->nr++] = (struct line){ start, start + size, line };
}

static int compare(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

/* Memory for nr elements of size bytes, taken from the budget; or NULL. */
static void *get(struct ow_perfmap *map, size_t nr, size_t size)
{
	void *memory;

	if (!ow_owner_take(&map->own, nr * size))
		return NULL;
	memory = calloc(nr, size);
	if (!memory)
		ow_owner_give(&map->own, nr * size);
	return memory;
}

static bool cut_into_parts(struct ow_perfmap *map)
{
	struct tree *t = &map->tree;
	size_t i, nr = 0;

	t->bounds = get(map, 2 * map->nr, sizeof(*t->bounds));
	if (!t->bounds)
		return false;
	for (i = 0; i < map->nr; i++) {
		t->bounds[2 * i] = map->lines[i].start;
		t->bounds[2 * i + 1] = map->lines[i].end;
	}
	qsort(t->bounds, 2 * map->nr, sizeof(*t->bounds), compare);
	for (i = 0; i < 2 * map->nr; i++)
		if (nr == 0 || t->bounds[i] != t->bounds[nr - 1])
			t->bounds[nr++] = t->bounds[i];
	t->nr_parts = nr - 1;
	return true;
}

/* How many of the bounds are at or before addr. */
static size_t bounds_to(const struct tree *t, uint64_t addr)
{
	size_t low = 0, high = t->nr_parts + 1, mid;

	while (low < high) {
		mid = low + (high - low) / 2;
		if (t->bounds[mid] <= addr)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

/* The nodes that a line is listed in. */
static size_t nodes_of(const struct tree *t, const struct line *line,
		       size_t nodes[NODES_MAX])
{
	size_t low = bounds_to(t, line->start) - 1 + t->nr_parts;
	size_t high = bounds_to(t, line->end) - 1 + t->nr_parts;
	size_t nr = 0;

	for (; low < high; low /= 2, high /= 2) {
		if (low & 1)
			nodes[nr++] = low++;
		if (high & 1)
			nodes[nr++] = --high;
	}
	return nr;
}

/* List all lines in their nodes. */
static bool list_lines(struct ow_perfmap *map)
{
	struct tree *t = &map->tree;
	size_t nodes[NODES_MAX], all = 2 * t->nr_parts, i, k, nr;

	/* [n + 2] counts node n's, and [n + 1] is where its next one goes. */
	t->begins = get(map, all + 2, sizeof(*t->begins));
	if (!t->begins)
		return false;
	for (i = 0; i < map->nr; i++) {
		nr = nodes_of(t, &map->lines[i], nodes);
		for (k = 0; k < nr; k++)
			t->begins[nodes[k] + 2]++;
	}
	for (i = 1; i < all + 2; i++)
		t->begins[i] += t->begins[i - 1];
	t->listed = get(map, t->begins[all + 1], sizeof(*t->listed));
	if (!t->listed)
		return false;
	for (i = 0; i < map->nr; i++) {
		nr = nodes_of(t, &map->lines[i], nodes);
		for (k = 0; k < nr; k++)
			t->listed[t->begins[nodes[k] + 1]++] = (uint32_t)i;
	}
	return true;
}

/* Back to so many bytes of memory. */
static void free_tree(struct ow_perfmap *map, size_t bytes)
{
	free(map->tree.bounds);
	free(map->tree.begins);
	free(map->tree.listed);
	map->tree = (struct tree){ .bounds = NULL };
	ow_owner_give(&map->own, map->own.bytes - bytes);
}

/* As many of the first lines as there is memory for. */
static void make_tree(struct ow_perfmap *map)
{
	size_t bytes = map->own.bytes, had = map->nr;

	while (map->nr && (!cut_into_parts(map) || !list_lines(map))) {
		free_tree(map, bytes);
		map->nr /= 2;
	}
	if (map->nr < had)
		ow_budget_refuse(map->path, "some of its lines");
}

/* How many lines the text has, and memory; the last one need not end. */
static size_t count_lines(const struct ow_perfmap *map, const char *end)
{
	size_t most = ow_owner_left(&map->own) / sizeof(*map->lines) / 2;
	size_t nr = 1;
	const char *pos;

	if (most > LINES_MAX)
		most = LINES_MAX;
	for (pos = map->text; pos < end && nr <= most; pos++)
		nr += *pos == '\n';
	if (nr <= most)
		return nr;
	ow_budget_refuse(map->path, "some of its lines");
	return most;
}

/* text has size bytes and room for one more. */
static bool parse(struct ow_perfmap *map, size_t size)
{
	char *end = map->text + size, *pos, *next;
	size_t room = count_lines(map, end);

	*end = '\n';
	map->lines = get(map, room, sizeof(*map->lines));
	if (!map->lines)
		return false;
	for (pos = map->text; pos < end && map->nr < room; pos = next + 1) {
		next = memchr(pos, '\n', (size_t)(end - pos) + 1);
		take_line(map, pos, next);
	}
	make_tree(map);
	return true;
}

/* Memory for text is taken for own; both are the map's, or freed. */
static struct ow_perfmap *create(char *text, size_t size, struct ow_owner own,
				 const char *path)
{
	struct ow_perfmap *map = calloc(1, sizeof(*map));

	if (!map) {
		free(text);
		ow_owner_give(&own, own.bytes);
		return NULL;
	}
	map->text = text;
	map->own = own;
	map->path = strdup(path);
	if (map->path && parse(map, size))
		return map;
	ow_perfmap_close(map);
	return NULL;
}

struct ow_perfmap *ow_perfmap_parse(const char *bytes, size_t size,
				    struct ow_owner own, const char *path)
{
	char *text;

	own = ow_owner_beside(&own);
	if (!ow_owner_take(&own, size + 1)) {
		ow_budget_refuse(path, "all of it");
		return NULL;
	}
	text = malloc(size + 1);
	if (text) {
		memcpy(text, bytes, size);
		return create(text, size, own, path);
	}
	ow_owner_give(&own, own.bytes);
	return NULL;
}

/* A map that a delegate opens, which may be lost with it. */
struct opening {
	pid_t pid;
	struct ow_perfmap *map;
};

/* Not mapped: its owner may cut the file off at any time. */
static size_t read_all(int fd, char *text, size_t size)
{
	size_t used = 0;
	ssize_t n = 1;

	while (used < size && n > 0) {
		n = ow_reach_read(fd, text + used,
				  size - used < READ_PART ? size - used :
							    READ_PART);
		used += n > 0 ? (size_t)n : 0;
	}
	return used;
}

/* Half of what it may have is for what its lines take beside the text. */
static struct ow_perfmap *read_map(int fd, const char *path)
{
	struct ow_owner own;
	size_t most, size;
	struct stat st;
	char *text;

	if (ow_reach_stat(fd, &st))
		return NULL;
	own = ow_owner_of(st.st_uid);
	most = ow_owner_left(&own) / 2;
	if (most > OW_PERFMAP_MAX)
		most = OW_PERFMAP_MAX;
	if (!most)
		return NULL;
	size = (uint64_t)st.st_size < most ? (size_t)st.st_size : most - 1;
	if (size < (uint64_t)st.st_size)
		ow_budget_refuse(path, "some of its lines");
	if (!ow_owner_take(&own, size + 1))
		return NULL;
	text = malloc(size + 1);
	if (text)
		return create(text, read_all(fd, text, size), own, path);
	ow_owner_give(&own, own.bytes);
	return NULL;
}

static void open_map(void *arg)
{
	_cleanup_(ow_reach_closep) int fd = -1;
	char path[OW_PERFPLACE_PATH];
	struct opening *o = arg;
	struct ow_perfplace place;

	if (!ow_perfplace_init(&place, o->pid))
		return;
	fd = ow_perfplace_open(&place, path);
	if (fd >= 0)
		o->map = read_map(fd, path);
	ow_perfplace_deinit(&place);
}

struct ow_perfmap *ow_perfmap_open(pid_t pid)
{
	struct opening *o = malloc(sizeof(*o));
	struct ow_perfmap *map = NULL;
	enum ow_delegation end;
	char path[64];

	if (!o)
		return NULL;
	*o = (struct opening){ .pid = pid };
	end = ow_reach(open_map, o);
	if (end == OW_DELEGATION_DONE) {
		map = o->map;
	} else {
		snprintf(path, sizeof(path), "/proc/%d/root/tmp", pid);
		ow_reach_leave_out(path, end);
	}
	if (end != OW_DELEGATION_LOST)
		free(o);
	return map;
}

/* How many of nr indexes of lines are below one. */
static size_t indexes_below(const uint32_t *list, size_t nr, size_t line)
{
	size_t low = 0, high = nr, mid;

	while (low < high) {
		mid = low + (high - low) / 2;
		if (list[mid] < line)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

/* How many lines the map had when it had but its first end bytes. */
static size_t lines_before(const struct ow_perfmap *map, size_t end)
{
	size_t low = 0, high = map->nr, mid;

	while (low < high) {
		mid = low + (high - low) / 2;
		if ((size_t)(map->lines[mid].name - map->text) < end)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

bool ow_perfmap_find_as_of(const struct ow_perfmap *map, uint64_t addr,
			   size_t end, struct ow_symbol *ret)
{
	const struct tree *t = &map->tree;
	size_t part = map->nr ? bounds_to(t, addr) : 0, node, nr, at;
	size_t had = lines_before(map, end);
	size_t then = map->nr, later = map->nr;
	const struct line *found;
	const uint32_t *list;

	if (part == 0 || part > t->nr_parts)
		return false;
	for (node = t->nr_parts + part - 1; node; node /= 2) {
		list = t->listed + t->begins[node];
		nr = t->begins[node + 1] - t->begins[node];
		at = indexes_below(list, nr, had);
		if (at > 0 && (then == map->nr || list[at - 1] > then))
			then = list[at - 1];
		if (at < nr && list[at] < later)
			later = list[at];
	}
	if (then == map->nr)
		then = later;
	if (then == map->nr)
		return false;
	found = &map->lines[then];
	*ret = (struct ow_symbol){ found->name, found->start,
				   found->end - found->start };
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
	free_tree(map, 0);
	free(map->path);
	free(map->text);
	free(map->lines);
	free(map);
}
