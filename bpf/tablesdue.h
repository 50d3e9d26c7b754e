/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Objects whose tables are to be made, the most urgent first: those that samples wait
 * for, then those of users whose tables have taken the least time, and else in the order
 * in which they were seen.
 *
 * Any user can map files without end whose tables take long.  So a user's tables, but
 * root's, may take 10 seconds of CPU time, and a quarter of the time from then on.
 */
#ifndef OW_TABLESDUE_H
#define OW_TABLESDUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "usertimes.h"

struct ow_object;

struct ow_tabledue {
	const struct ow_object *object; /* its CFI is loaded */
	uint32_t number;
	uid_t uid;         /* of a process that has it mapped; -1: not known */
	bool is_asked;     /* by a sample */
	bool is_large;     /* takes long, and two threads to make */
	bool is_unhurried; /* when taken: its user's tables have taken a second */
};

struct ow_tablesdue {
	struct ow_tabledue *all;
	size_t nr, room;
	struct ow_usertimes times;
};

/* Add one that isn't among them; false: out of memory. */
bool ow_tablesdue_add(struct ow_tablesdue *d, const struct ow_tabledue *one);

/* Another process has the object mapped, too: the user counts that has taken less time. */
void ow_tablesdue_need(struct ow_tablesdue *d, uint32_t number, uid_t uid);

/* A sample of that user's waits for this object's, if it is among them. */
void ow_tablesdue_ask(struct ow_tablesdue *d, uint32_t number, uid_t uid);

/* Nobody needs that object's any more.  Return false if it isn't among them. */
bool ow_tablesdue_drop(struct ow_tablesdue *d, uint32_t number);

/*
 * Take the most urgent one, which may be large or not; return false if there is none
 * such whose user may take time now (CLOCK_MONOTONIC, ns).
 */
bool ow_tablesdue_take(struct ow_tablesdue *d, bool may_be_large, uint64_t now,
		       struct ow_tabledue *ret);

/* Return true if nothing may be done for the user's tables now (CLOCK_MONOTONIC, ns). */
bool ow_tablesdue_must_wait(const struct ow_tablesdue *d, uid_t uid,
			    uint64_t now);

/* Return true if there is one that could be taken now. */
bool ow_tablesdue_is_any(const struct ow_tablesdue *d, uint64_t now);

/* A table of the user's has taken so many ns of CPU time. */
void ow_tablesdue_pay(struct ow_tablesdue *d, uid_t uid, uint64_t ns,
		      uint64_t now);

/* Nothing is due any more. */
void ow_tablesdue_clear(struct ow_tablesdue *d);

void ow_tablesdue_deinit(struct ow_tablesdue *d);

#endif /* OW_TABLESDUE_H */
