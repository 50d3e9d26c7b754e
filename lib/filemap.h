/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Mappings of files that others may cut off at any time, so that an access would
 * raise SIGBUS: a handler puts zeros in place of the whole mapping, and notes it.
 */
#ifndef OW_FILEMAP_H
#define OW_FILEMAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "identity.h"

struct ow_filemap;

/*
 * Have SIGBUS handled here before a delegate maps a file: handlers are not among
 * what it shares with us.
 */
void ow_filemap_prepare(void);

/*
 * Return true if fd's file is one of hugetlbfs, which isn't mapped here: its pages can be
 * replaced all together only, and each may have 1 GiB.
 */
bool ow_filemap_is_huge(int fd);

/*
 * Map size bytes, at least one, of fd's file from its start, for reading; flags
 * are further ones of mmap(2).  After the last byte there is at least one zero,
 * or what reads as one and counts as cut off: a text there has an end.  name,
 * which is copied, is for ow_file_lost().  Return NULL with errno set if that
 * fails: EOPNOTSUPP for a file of hugetlbfs.
 */
struct ow_filemap *ow_filemap_open(int fd, size_t size, const char *name,
				   int flags);

/*
 * The same for a file that others may write to: after its last page there are zeros, also
 * when the file has more by then.
 */
struct ow_filemap *ow_filemap_open_growing(int fd, size_t size,
					   const char *name, int flags);

/*
 * Have size bytes that other code has mapped of a file, and unmaps, be as such a
 * mapping is, until ow_filemap_close(), which has to come first.  Return NULL if
 * there is no memory.
 */
struct ow_filemap *ow_filemap_adopt(const void *bytes, size_t size,
				    const char *name);

/*
 * Between these two calls, code of others that this thread calls maps files and
 * reads them, before ow_filemap_adopt() can be told of them.  The second returns
 * false if one was cut off meanwhile.
 */
void ow_filemap_begin_others(void);
bool ow_filemap_end_others(void);

/* Return true if the byte at is in the mapping. */
bool ow_filemap_has(const struct ow_filemap *map, const void *at);

/* As it was given. */
const char *ow_filemap_name(const struct ow_filemap *map);

/* Where the file's first byte is. */
const uint8_t *ow_filemap_bytes(const struct ow_filemap *map);

/*
 * Look at the file of a mapping that ow_filemap_open() made, whatever its name means
 * by now.  Without CAP_SYS_ADMIN or CAP_CHECKPOINT_RESTORE that is not allowed.
 */
bool ow_filemap_look(const struct ow_filemap *map, struct ow_identity *ret);

/*
 * As pread(2), of the file of a mapping that ow_filemap_open() made.  A hole of a file that is
 * memory (tmpfs) takes none then, which a look through the mapping would have us pay for.
 * Return -1 and set errno where that is not allowed, as ow_filemap_look().
 */
ssize_t ow_filemap_read(const struct ow_filemap *map, void *buf, size_t size,
			uint64_t off);

/*
 * Return true if something that was read of it was lost: it is all zeros now,
 * and what was made of it is not to be relied on.  NULL is whole.
 */
bool ow_filemap_is_cut(const struct ow_filemap *map);

/*
 * How many mappings have been cut so far; when that has not changed, there is no
 * need to ask each.
 */
unsigned int ow_filemap_nr_cut(void);

/*
 * Let go of the pages of all mappings, which come back as they are read: a process
 * that runs for long is not to hold all that it read once.
 */
void ow_filemap_rest(void);

/* Unmap, if it is ours; NULL does nothing. */
void ow_filemap_close(struct ow_filemap *map);

#endif /* OW_FILEMAP_H */
