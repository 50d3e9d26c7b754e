// SPDX-License-Identifier: BSD-2-Clause
#include "tablestamp.h"

#include <stddef.h>
#include <string.h>

#include "table.h"

#define MAGIC 0x3153574fU /* "OWS1" */

_Static_assert(offsetof(struct ow_tablestamp, check) ==
		       offsetof(struct ow_table_head, check),
	       "for ow_table_checksum()");

static uint64_t check_of(const struct ow_tablestamp *s)
{
	return ow_table_checksum((const uint8_t *)s, sizeof(*s));
}

bool ow_tablestamp_read(struct ow_tablestamp *s, const uint8_t *bytes)
{
	memcpy(s, bytes, sizeof(*s));
	return s->magic == MAGIC && s->nr <= OW_TABLESTAMP_FILES &&
	       s->check == check_of(s);
}

static struct ow_tablestamp_file file_of(const struct ow_identity *file)
{
	return (struct ow_tablestamp_file){ file->dev, file->inode, file->size,
					    file->mtime_ns, file->ctime_ns };
}

bool ow_tablestamp_has(const struct ow_tablestamp *s,
		       const struct ow_identity *file)
{
	const struct ow_tablestamp_file is = file_of(file);

	for (uint32_t i = 0; file->inode && i < s->nr; i++)
		if (memcmp(&s->files[i], &is, sizeof(is)) == 0)
			return true;
	return false;
}

void ow_tablestamp_add(struct ow_tablestamp *s, const struct ow_identity *file)
{
	struct ow_tablestamp to = { .magic = MAGIC, .nr = 1 };
	const struct ow_tablestamp_file *old;

	to.files[0] = file_of(file);
	for (uint32_t i = 0; i < s->nr && to.nr < OW_TABLESTAMP_FILES; i++) {
		old = &s->files[i];
		/* It is in another state now. */
		if (old->dev != file->dev || old->inode != file->inode)
			to.files[to.nr++] = *old;
	}
	to.check = check_of(&to);
	*s = to;
}
