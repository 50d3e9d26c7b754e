/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Compact tables that sessions brought, and the objects that they are of. */
#ifndef KW_TABLE_H
#define KW_TABLE_H

#include <linux/fs.h>
#include <linux/list.h>
#include <linux/refcount.h>

#include "ow_kunwind.h"
#include "table.h"

struct kw_session;
struct kw_space;

/* The bytes, a private copy that was checked once; shared where they are equal. */
struct kw_table {
	struct hlist_node node; /* in the hash of contents, under kw_mutex */
	refcount_t ref;
	unsigned int nr_uses; /* under kw_mutex; in the hash while not 0 */
	u64 check;
	struct ow_table table;
	size_t size;
	u8 *bytes;
};

/* An object's identity: what is mapped, as far as a kernel can tell. */
struct kw_object {
	dev_t dev; /* 0, as the inode: the vDSO */
	u32 generation;
	u64 ino;
	s64 size, mtime_sec;
	long mtime_nsec;
};

/* A session says: this object has that table. */
struct kw_use {
	struct hlist_node node; /* by object, under the registry's lock */
	struct list_head list;  /* the session's */
	struct kw_session *session;
	struct kw_object object;
	struct kw_table *table; /* a reference */
	u64 entry;
	u32 build_id_size;
	u8 build_id[OW_KUNWIND_BUILD_ID];
	unsigned int nr;
	struct ow_kunwind_segment segments[];
};

/* What a map takes from a use. */
struct kw_found {
	struct kw_table *table; /* a reference */
	u64 bias, entry;
};

void kw_object_of(const struct inode *inode, struct kw_object *ret);
bool kw_object_equal(const struct kw_object *a, const struct kw_object *b);

/*
 * The table of that architecture that counts in a space for code of an object
 * that is mapped at start from file offset off, size bytes; the caller holds
 * the space's mutex.
 */
bool kw_table_find(struct kw_space *space, const struct kw_object *object,
		   u64 start, u64 off, u64 size, struct kw_found *ret);

void kw_table_put(struct kw_table *table);

/* OW_KUNWIND_TABLE. */
int kw_table_add(struct kw_session *session,
		 const struct ow_kunwind_table *arg);

/* All of a session; the caller holds kw_mutex. */
void kw_table_drop_all(struct kw_session *session);

#endif /* KW_TABLE_H */
