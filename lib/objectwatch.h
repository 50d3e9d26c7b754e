/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Whether a file that an object's frames are named and found by was written to since it
 * was opened: what is read of it now need not be what was mapped before.  It is the
 * object's own or a debug file.  Its size and times tell that; of a file that others than
 * root and we may write to, which need no new time for that (ow_identity_is_ours()), a
 * hash of what is read of it does.
 */
#ifndef OW_OBJECTWATCH_H
#define OW_OBJECTWATCH_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct ow_object;

/* A file with more of such bytes is not hashed. */
#define OW_OBJECTWATCH_MAX ((uint64_t)64 << 20)

/*
 * The files that frames are named and found by, of which each is an object, too: obj, if
 * i is 0, and those debug files of it that are open; NULL: there are no more.
 */
struct ow_object *ow_objectwatch_file(struct ow_object *obj, unsigned int i);

/*
 * Return true if others than root and we may write to what obj's bytes are of, as far as
 * is known of that.
 */
bool ow_objectwatch_is_others(const struct ow_object *obj);

/*
 * Hash the bytes of all its files that have to be, and were not, and with_lines also
 * those that only lines and inlined calls are found by: as many as may be read for that
 * user's processes (watchshare.h).
 */
void ow_objectwatch_begin(struct ow_object *obj, bool with_lines, uid_t user);

/*
 * Return true if the bytes of one of its files are others than those that were hashed.
 * No more than a small part of the time, and of what may be read for that user's
 * processes, is spent on it.
 */
bool ow_objectwatch_is_rewritten(struct ow_object *obj, uid_t user);

/*
 * Return true if obj's files are what they were when they were opened, as far as bytes
 * tell, of which again is the first, opened just now.  user: as above.
 */
bool ow_objectwatch_is_same(struct ow_object *obj,
			    const struct ow_object *again, uid_t user);

/*
 * Return true if a file would have to be hashed, or hashed again, and was not: what its
 * owner writes to it may not be seen.
 */
bool ow_objectwatch_is_blind(const struct ow_object *file);

/* What is looked at of a file: */
enum ow_objectwatch_look {
	OW_OBJECTWATCH_TIMES, /* size and times only */
	OW_OBJECTWATCH_SOME, /* bytes as well, but for a small part of the time */
	OW_OBJECTWATCH_LAST, /* bytes, whenever they were looked at */
};

/*
 * Return true if the bytes of a file are others than those that were hashed, or the size
 * or the times are others.  False if it can't be looked at, and of bytes that are a copy,
 * or that may not be read now for the user whom it was hashed for.
 */
bool ow_objectwatch_is_changed(struct ow_object *file,
			       enum ow_objectwatch_look look);

#endif /* OW_OBJECTWATCH_H */
