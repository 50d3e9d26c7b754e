/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Compact tables that sessions brought. */
#ifndef KW_TABLE_H
#define KW_TABLE_H

#include <linux/list.h>
#include <linux/refcount.h>

#include "ow_kunwind.h"
#include "rare.h"
#include "table.h"

/*
 * The bytes, a private copy that was checked once; shared where they are equal,
 * among the sessions of one user.  Others' tables are not shared, as that could be
 * told by who pays.
 */
struct kw_user;

struct kw_table {
	struct hlist_node node; /* in the hash of contents */
	refcount_t ref;
	unsigned int nr_uses;  /* it is in the hash while this is not 0 */
	struct list_head uses; /* struct kw_use, under uses_lock */
	struct kw_user *user;  /* pays; a reference */
	bool by_mappers;       /* that is one of those who map it */
	/* khold.c's: */
	bool may_go;                        /* while nobody maps it */
	struct list_head holds;             /* struct kw_hold */
	struct list_head idle, idle_of_all; /* if there are none */
	u64 key;                            /* of the bytes, for the hash */
	struct ow_table table;
	struct ow_rare rare; /* nr_rows 0: none */
	size_t size;         /* of both */
	u8 *bytes;
};

int kw_table_init(void);

/* The bytes that arg says there are of a table and its rare rows; -EINVAL. */
int kw_table_size(const struct ow_kunwind_table *arg, size_t *ret);

/*
 * A private copy of the bytes that arg has, all of which is checked, at the user's
 * expense; the caller gets a reference.  An error pointer: -EINVAL: unsound;
 * -EFAULT, -EINTR, -EAGAIN: they are taken out of memory faster than they are
 * read; -ENOMEM, -ENOSPC.
 */
struct kw_table *kw_table_read(struct kw_user *user, bool by_mappers,
			       const struct ow_kunwind_table *arg);

/* What a table of so many bytes costs. */
size_t kw_table_price(size_t size);

/*
 * Another user pays from now on; the caller sees to it that the payer is not asked for
 * meanwhile.  False: there is no room.
 */
bool kw_table_pass(struct kw_table *table, struct kw_user *to);

/* Give back a reference; NULL is none. */
void kw_table_put(struct kw_table *table);

/*
 * What those who use a table hold it by.  The first takes it, or the user's one of
 * equal bytes that is held already, in place of fresh; the second gives it back.
 */
struct kw_table *kw_table_share(struct kw_table *fresh);
void kw_table_drop(struct kw_table *table);

/* Return true if nobody has the table but its uses, and the caller. */
bool kw_table_is_only_used(const struct kw_table *table);

#endif /* KW_TABLE_H */
