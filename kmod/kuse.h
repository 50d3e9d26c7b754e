/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Objects that code is mapped from, and which table they have for whom. */
#ifndef KW_USE_H
#define KW_USE_H

#include <linux/fs.h>

#include "ksession.h"
#include "ktable.h"

/* An object's identity: what is mapped, as far as a kernel can tell. */
struct kw_object {
	dev_t dev; /* 0, as the inode: the vDSO */
	u32 generation;
	u64 origin; /* a file system's, which isn't used again as dev is; or a file's */
	u64 ino;
	s64 size, mtime_sec;
	long mtime_nsec;
};

/*
 * A session says: this object has that table.  Its user pays; but where a privileged
 * session brings a table for everybody, the user pays whose process maps the file; or
 * else the owner of the file does, so that nobody can use up root's share by many files.
 */
struct kw_use {
	struct hlist_node node;    /* by inode and reach, under uses_lock */
	struct list_head list;     /* the session's, under uses_lock */
	struct list_head of_table; /* under uses_lock */
	struct kw_session *session;
	struct kw_user *user; /* pays; a reference */
	struct kw_object object;
	struct kw_table *table; /* a reference */
	u64 entry;
	bool by_mappers; /* one of those who map it pays for the table */
	unsigned int nr;
	struct ow_kunwind_segment segments[];
};

/* Code of an object, as it is mapped. */
struct kw_mapped {
	struct kw_object object;
	u64 start, off, size; /* where, from what in the file, and how much */
};

/* What a map takes from a use. */
struct kw_found {
	struct kw_table *table; /* a reference */
	u64 bias, entry;
};

int kw_use_init(void);

void kw_object_of(struct inode *inode, struct kw_object *ret);
bool kw_object_equal(const struct kw_object *a, const struct kw_object *b);

/*
 * The table of that architecture that counts for what is mapped in a space with
 * these tracks.
 */
bool kw_use_find(const struct kw_mapped *m, const struct ow_arch *arch,
		 const struct list_head *tracks, struct kw_found *ret);

/* OW_KUNWIND_TABLE; *ret is the object that has it now. */
int kw_use_add(struct kw_session *session, const struct ow_kunwind_table *arg,
	       struct kw_object *ret);

/* All of a session that is closed; return true if it had any. */
bool kw_use_drop_all(struct kw_session *session);

#endif /* KW_USE_H */
