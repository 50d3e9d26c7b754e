// SPDX-License-Identifier: BSD-2-Clause
/* A table of names by itself: an object's symbols, or lines of text. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "budget.h"
#include "error.h"
#include "nametext.h"
#include "object.h"
#include "symtab.h"

#define FILE_MAX   ((size_t)128 << 20) /* of which the kernel's has some 15 */
#define FIRST_ROOM 65536

struct ow_nametable {
	struct ow_nametext *text; /* or these two: */
	struct ow_object *obj;
	struct ow_symtab *symtab;
};

/* Double the room, up to most; false if that is all, or there is no memory. */
static bool more_room(struct ow_text *t, size_t *room, size_t most)
{
	size_t more = *room ? 2 * *room : FIRST_ROOM;
	char *bytes;

	if (more > most)
		more = most;
	if (more == *room || !ow_budget_take(&t->own, more - *room))
		return false;
	bytes = realloc(t->bytes, more + 1);
	if (!bytes)
		return false;
	t->bytes = bytes;
	*room = more;
	return true;
}

/*
 * Read all that fd has, up to most bytes; not mapped, as it may be a pipe or a file of
 * /proc.  Return what the last read(2) did: 0 at the end.
 */
static ssize_t read_most(int fd, struct ow_text *t, size_t most)
{
	size_t room = 0;
	ssize_t n = 1;
	char c;

	while (n > 0 || (n < 0 && errno == EINTR)) {
		if (t->size == room && !more_room(t, &room, most))
			return read(fd, &c, 1);
		n = read(fd, t->bytes + t->size, room - t->size);
		t->size += n > 0 ? (size_t)n : 0;
	}
	return n;
}

/* Only whole lines: a part of a name is none. */
static void cut_line(struct ow_text *t)
{
	while (t->size && t->bytes[t->size - 1] != '\n')
		t->size--;
	ow_budget_refuse(t->path, "some of its lines");
}

static void drop_text(struct ow_text *t)
{
	free(t->bytes);
	ow_budget_give(&t->own, t->own);
}

/* Half of what a table may take is for what its lines take beside the text. */
static bool read_all(int fd, struct ow_text *t, struct ow_error *err)
{
	size_t most = ow_budget_share(0) / 2;
	ssize_t left;

	if (most > FILE_MAX)
		most = FILE_MAX;
	left = read_most(fd, t, most);
	if (left < 0)
		ow_fail(err, OW_CODE_SYSTEM, "read %s", t->path);
	else if (!t->bytes)
		ow_fail(err, OW_CODE_MEMORY, "out of memory");
	else if (left > 0 && most == FILE_MAX)
		ow_fail(err, OW_CODE_FORMAT, "%s: longer than 128 MiB",
			t->path);
	else if (left > 0)
		cut_line(t);
	if (left >= 0 && t->bytes && (left == 0 || most < FILE_MAX))
		return true;
	drop_text(t);
	return false;
}

static bool open_text(struct ow_nametable *t, int fd, const char *path,
		      enum ow_aliases aliases, struct ow_error *err)
{
	struct ow_text text = { .path = path };

	if (!read_all(fd, &text, err))
		return false;
	t->text = ow_nametext_create(&text, aliases);
	if (!t->text)
		ow_fail(err, OW_CODE_MEMORY, "out of memory");
	return t->text;
}

static bool open_object(struct ow_nametable *t, int fd, const char *path,
			struct ow_error *err)
{
	t->obj = ow_object_open_fd(fd, path, err);
	if (!t->obj)
		return false;
	t->symtab = ow_symtab_create(t->obj, NULL);
	if (!t->symtab)
		ow_fail(err, OW_CODE_MEMORY, "out of memory");
	return t->symtab;
}

/* Does a file that can be looked at twice begin as an ELF file does? */
static bool is_elf(int fd)
{
	char magic[4];

	return pread(fd, magic, sizeof(magic), 0) == sizeof(magic) &&
	       memcmp(magic, "\177ELF", sizeof(magic)) == 0;
}

struct ow_nametable *ow_nametable_open(const char *path,
				       enum ow_aliases aliases,
				       struct ow_error *err)
{
	_cleanup_(ow_closep) int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct ow_nametable *t;

	if (fd < 0) {
		ow_fail(err, OW_CODE_SYSTEM, "open %s", path);
		return NULL;
	}
	t = calloc(1, sizeof(*t));
	if (!t)
		ow_fail(err, OW_CODE_MEMORY, "out of memory");
	else if (is_elf(fd) ? open_object(t, fd, path, err) :
			      open_text(t, fd, path, aliases, err))
		return t;
	ow_nametable_close(t);
	return NULL;
}

bool ow_nametable_is_empty(const struct ow_nametable *t)
{
	return t->text && ow_nametext_nr(t->text) == 0;
}

bool ow_nametable_find(struct ow_nametable *t, uint64_t addr,
		       const char **name_ret, uint64_t *offset_ret)
{
	struct ow_symbol symbol;

	if (t->text)
		return ow_nametext_find(t->text, addr, name_ret, offset_ret);
	if (!ow_symtab_find(t->symtab, addr, &symbol) ||
	    ow_object_is_cut(t->obj) || ow_symtab_is_cut(t->symtab))
		return false;
	*name_ret = symbol.name;
	*offset_ret = addr - symbol.vaddr;
	return true;
}

bool ow_nametable_address(const struct ow_nametable *t, const char *name,
			  uint64_t *ret)
{
	return t->text && ow_nametext_address(t->text, name, ret);
}

void ow_nametable_close(struct ow_nametable *t)
{
	if (!t)
		return;
	ow_nametext_destroy(t->text);
	ow_symtab_destroy(t->symtab);
	ow_object_close(t->obj);
	free(t);
}
