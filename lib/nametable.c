// SPDX-License-Identifier: BSD-2-Clause
/* A table of names by itself: an object's symbols, or lines of text. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "error.h"
#include "nametext.h"
#include "object.h"
#include "symtab.h"

#define FILE_MAX ((size_t)128 << 20) /* of which the kernel's has some 15 */

struct ow_nametable {
	struct ow_nametext *text; /* or these two: */
	struct ow_object *obj;
	struct ow_symtab *symtab;
};

/* Double the room, to one byte more than a power of two; NULL: no memory. */
static char *more_room(char *text, size_t *room)
{
	size_t size = *room ? 2 * *room : 65536;
	char *more = realloc(text, size + 1);

	if (!more)
		free(text);
	*room = size;
	return more;
}

/*
 * All that fd has, with room for one byte more; not mapped, as it may be a pipe
 * or a file of /proc.
 */
static char *read_all(int fd, const char *path, size_t *size_ret,
		      struct ow_error *err)
{
	size_t used = 0, room = 0;
	char *text = NULL;
	ssize_t n;

	do {
		if (used == room && !(text = more_room(text, &room))) {
			ow_fail(err, OW_CODE_MEMORY, "out of memory");
			return NULL;
		}
		n = read(fd, text + used, room - used);
		used += n > 0 ? n : 0;
	} while ((n > 0 && used <= FILE_MAX) || (n < 0 && errno == EINTR));
	*size_ret = used;
	if (n == 0)
		return text;
	if (n < 0)
		ow_fail(err, OW_CODE_SYSTEM, "read %s", path);
	else
		ow_fail(err, OW_CODE_FORMAT, "%s: longer than 128 MiB", path);
	free(text);
	return NULL;
}

static bool open_text(struct ow_nametable *t, int fd, const char *path,
		      enum ow_aliases aliases, struct ow_error *err)
{
	size_t size;
	char *text = read_all(fd, path, &size, err);

	if (!text)
		return false;
	t->text = ow_nametext_create(text, size, aliases);
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
	t->symtab = ow_symtab_create(t->obj, false);
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
