/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Who has taken how much of what there is for all: no owner gets more than a part of
 * what the others leave over, so that something is left for who comes later.
 */
#ifndef OW_SHARES_H
#define OW_SHARES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct share {
	uint64_t owner;
	uint64_t taken;
	uint32_t nr_processes; /* of a user in a limit, that are told apart */
	bool is_used, is_refused;
};

/* All zero but for most and eighths is one of which nothing is taken. */
struct shares {
	uint64_t most;        /* for all, in whatever unit */
	unsigned int eighths; /* of what others leave over, for one owner */
	uint64_t taken;       /* by all */
	struct share others; /* beyond so many owners that they are told apart */
	struct share *all;   /* by owner */
	size_t nr, room;     /* a power of two */
	uint64_t nr_refused; /* owners to whom shares_refuse() was said */
};

/* What the owner may take yet. */
uint64_t shares_left(const struct shares *s, uint64_t owner);

/* The owner takes so much: what it may, and no more than most, is up to the caller. */
void shares_take(struct shares *s, uint64_t owner, uint64_t size);

/*
 * The owner has so much no more, which it took.  One that has nothing left, and was
 * refused nothing, is forgotten.
 */
void shares_give(struct shares *s, uint64_t owner, uint64_t size);

/* The owner was refused something. */
void shares_refuse(struct shares *s, uint64_t owner);

void shares_deinit(struct shares *s);

/*
 * What processes and users share: no process has more than three quarters of what
 * others leave over, and no user but root more than seven eighths.  A user can have
 * any number of processes, one after another: of those beyond so many that are told
 * apart, each user's count as one process, and as none of another user's.
 */
struct shares_limit {
	struct shares processes, users;
};

void shares_limit_init(struct shares_limit *l, uint64_t most);

/* Return what a process of a user may take yet. */
uint64_t shares_limit_left(const struct shares_limit *l, pid_t pid, uid_t uid);

/* Return true if a process of a user may take so much. */
bool shares_limit_allows(const struct shares_limit *l, pid_t pid, uid_t uid,
			 uint64_t size);

void shares_limit_take(struct shares_limit *l, pid_t pid, uid_t uid,
		       uint64_t size);
void shares_limit_give(struct shares_limit *l, pid_t pid, uid_t uid,
		       uint64_t size);

/* The process was refused something. */
void shares_limit_refuse(struct shares_limit *l, pid_t pid, uid_t uid);

void shares_limit_deinit(struct shares_limit *l);

#endif /* OW_SHARES_H */
