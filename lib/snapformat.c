// SPDX-License-Identifier: BSD-2-Clause
#include "snapformat.h"

#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "budget.h"
#include "cursor.h"
#include "error.h"
#include "table.h"

#define LEVEL         3
/* A block of zstd has 4 bytes at least and makes 128 KiB of them at most. */
#define LARGEST_RATIO 32768

/* How long a record of each type is at least. */
static const uint32_t entries[OW_SNAP_NR_TYPES] = {
	[OW_SNAP_META] = sizeof(struct ow_snap_meta),
	[OW_SNAP_STRINGS] = 1,
	[OW_SNAP_THREADS] = sizeof(struct ow_snap_thread),
	[OW_SNAP_REG_NAMES] = sizeof(uint32_t),
	[OW_SNAP_REGS] = sizeof(uint64_t),
	[OW_SNAP_PIECES] = sizeof(struct ow_snap_piece),
	[OW_SNAP_MEMORY] = 1,
	[OW_SNAP_RANGES] = sizeof(struct ow_snap_range),
	[OW_SNAP_MODULES] = sizeof(struct ow_snap_module),
	[OW_SNAP_OBJECTS] = sizeof(struct ow_snap_object),
	[OW_SNAP_OBJECT_BYTES] = 1,
	[OW_SNAP_JIT_NAMES] = 1,
};

uint32_t ow_snap_entry(enum ow_snap_type type)
{
	return entries[type];
}

static int bad(struct ow_error *err, const char *what, uint64_t at)
{
	return ow_fail(err, OW_CODE_FORMAT, "%s, at byte %llu of it", what,
		       (unsigned long long)at);
}

/* One section; false if it isn't in order. */
static bool take_section(struct ow_snap *s, struct ow_cursor *c)
{
	struct ow_snap_section head;
	const uint8_t *at = ow_cursor_skip(c, sizeof(head));
	uint64_t size;

	if (!at)
		return false;
	memcpy(&head, at, sizeof(head));
	if (__builtin_mul_overflow(head.nr, head.entry, &size) ||
	    size > (uint64_t)(c->end - c->pos))
		return false;
	at = ow_cursor_skip(c, size);
	ow_cursor_skip(c, -size % 8);
	if (c->bad)
		return false;
	if (head.type >= OW_SNAP_NR_TYPES || head.type == 0)
		return true;
	/* Bytes are bytes, and never two sections of a type. */
	if (head.entry < entries[head.type] ||
	    (entries[head.type] == 1 && head.entry != 1) ||
	    s->sections[head.type].bytes)
		return false;
	s->sections[head.type].bytes = at;
	s->sections[head.type].nr = head.nr;
	s->sections[head.type].entry = head.entry;
	return true;
}

int ow_snap_parse(struct ow_snap *s, const uint8_t *bytes, size_t size,
		  struct ow_error *err)
{
	struct ow_cursor c = { bytes, bytes + size, false };
	const uint8_t *at, *texts;
	uint64_t nr;

	*s = (struct ow_snap){ 0 };
	while (ow_cursor_more(&c)) {
		at = c.pos;
		if (!take_section(s, &c))
			return bad(err, "malformed section", at - bytes);
	}
	texts = s->sections[OW_SNAP_STRINGS].bytes;
	nr = s->sections[OW_SNAP_STRINGS].nr;
	if (nr && texts[nr - 1] != '\0')
		return bad(err, "text without an end", texts + nr - 1 - bytes);
	if (s->sections[OW_SNAP_META].nr != 1)
		return ow_fail(err, OW_CODE_FORMAT,
			       "no section says what it is of");
	return 0;
}

bool ow_snap_get(const struct ow_snap *s, enum ow_snap_type type, uint64_t i,
		 void *ret, size_t size)
{
	if (i >= s->sections[type].nr)
		return false;
	memcpy(ret, s->sections[type].bytes + i * s->sections[type].entry,
	       size);
	return true;
}

const char *ow_snap_text(const struct ow_snap *s, uint32_t off)
{
	const char *texts = (const char *)s->sections[OW_SNAP_STRINGS].bytes;

	if (off == 0 || off >= s->sections[OW_SNAP_STRINGS].nr)
		return NULL;
	return texts[off] ? texts + off : NULL;
}

uint64_t ow_snap_digest(const struct ow_object *obj)
{
	uint8_t bytes[4096 + 8] = { 0 };
	uint64_t size = obj->size;
	size_t n = size < 4096 ? size : 4096;

	/* Bytes 8 to 15 of an ELF file say nothing about it. */
	memcpy(bytes, obj->bytes, n);
	memcpy(bytes + 4096, &size, sizeof(size));
	return ow_table_checksum(bytes, sizeof(bytes));
}

bool ow_snap_is_snapshot(const void *bytes, size_t size)
{
	return size >= strlen(OW_SNAP_MAGIC) &&
	       memcmp(bytes, OW_SNAP_MAGIC, strlen(OW_SNAP_MAGIC)) == 0;
}

int ow_snap_check_size(size_t size, struct ow_error *err)
{
	if (size <= OW_SNAP_LARGEST)
		return 0;
	return ow_fail(err, OW_CODE_UNSUPPORTED,
		       "%zu MiB are too much for a snapshot (%llu): limit the "
		       "stacks' size",
		       size >> 20, (unsigned long long)OW_SNAP_LARGEST >> 20);
}

uint8_t *ow_snap_pack(const uint8_t *bytes, size_t size, size_t *size_ret,
		      struct ow_error *err)
{
	struct ow_snap_head head = {
		.magic = OW_SNAP_MAGIC,
		.version = OW_SNAP_VERSION,
		.size = size,
	};
	size_t room = ZSTD_compressBound(size), n;
	uint8_t *to;

	if (ow_snap_check_size(size, err))
		return NULL;
	to = malloc(sizeof(head) + room);
	n = to ? ZSTD_compress(to + sizeof(head), room, bytes, size, LEVEL) : 0;
	if (!to || ZSTD_isError(n)) {
		ow_fail(err, OW_CODE_MEMORY, "out of memory");
		free(to);
		return NULL;
	}
	n += sizeof(head);
	memcpy(to, &head, sizeof(head));
	head.check = ow_table_checksum(to, n);
	memcpy(to, &head, sizeof(head));
	*size_ret = n;
	return to;
}

static bool is_whole(const uint8_t *bytes, size_t size,
		     const struct ow_snap_head *head)
{
	return head->reserved == 0 && head->size <= OW_SNAP_LARGEST &&
	       head->size / LARGEST_RATIO <= size &&
	       size <= sizeof(*head) + ZSTD_compressBound(head->size) &&
	       ow_table_checksum(bytes, size) == head->check;
}

int ow_snap_unpack(const uint8_t *bytes, size_t size, const char *path,
		   struct ow_unpacked *ret, struct ow_error *err)
{
	struct ow_snap_head head;

	*ret = (struct ow_unpacked){ 0 };
	if (size < sizeof(head) || !ow_snap_is_snapshot(bytes, size))
		return ow_fail(err, OW_CODE_FORMAT, "%s: not a snapshot", path);
	memcpy(&head, bytes, sizeof(head));
	if (head.version != OW_SNAP_VERSION)
		return ow_fail(err, OW_CODE_UNSUPPORTED,
			       "%s: a snapshot of version %u; this outwind "
			       "knows %u",
			       path, head.version, OW_SNAP_VERSION);
	if (!is_whole(bytes, size, &head))
		return ow_fail(err, OW_CODE_FORMAT,
			       "%s: the snapshot is damaged or cut off", path);
	if (!ow_budget_take_most(&ret->room, head.size + 1))
		return ow_fail(err, OW_CODE_MEMORY,
			       "%s: its %llu MiB are more memory than it may "
			       "take (--memory-limit)",
			       path, (unsigned long long)head.size >> 20);
	ret->size = head.size;
	ret->bytes = malloc(head.size + 1);
	if (ret->bytes &&
	    ZSTD_decompress(ret->bytes, head.size, bytes + sizeof(head),
			    size - sizeof(head)) == head.size)
		return 0;
	if (ret->bytes)
		ow_fail(err, OW_CODE_FORMAT, "%s: the snapshot is damaged",
			path);
	else
		ow_fail(err, OW_CODE_MEMORY, "out of memory");
	ow_snap_unpack_free(ret);
	return -OW_CODE_FORMAT;
}

void ow_snap_unpack_free(struct ow_unpacked *sections)
{
	ow_budget_give(&sections->room, sections->room);
	free(sections->bytes);
	*sections = (struct ow_unpacked){ 0 };
}
