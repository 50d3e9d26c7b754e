/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * How much text system calls may take.  Who is looked at chooses how many calls there
 * are, how deep their stacks are, and what names and paths are in them.
 *
 * So many bytes of each call are always written.  What is beyond these has a limit for
 * the whole run, after which calls are cut.  Once the end was reached, calls that still
 * wait have limits of their own, after which they are left out, or have no names, as
 * these take time.  Where calls wait before the end, names have a part of the time: or there
 * would be no room for others' calls.  A name that takes longer than that part
 * of a turn is a debt of its user, or of a process of root's: once calls of others have
 * waited, its calls have no names until the time is made up for; after a single such
 * name, no longer than calls wait.
 */
#ifndef OW_SYSCALLTEXT_H
#define OW_SYSCALLTEXT_H

#include <sys/types.h>

#include "shares.h"

#define SYSCALLTEXT_BRIEF 2048                  /* bytes of a call: always */
#define SYSCALLTEXT_MOST  ((uint64_t)1 << 30)   /* beyond these, in all */
#define SYSCALLTEXT_LATE  ((uint64_t)256 << 20) /* after the end */
#define SYSCALLTEXT_WORK  5000000000ULL         /* ns for names after the end */
#define SYSCALLTEXT_WAIT  200000000ULL /* ns: calls wait long to be taken */
#define SYSCALLTEXT_TURN  100000000ULL /* ns */
#define SYSCALLTEXT_NAMES 25000000ULL  /* ns of a turn for names then */

#define SYSCALLTEXT_DEBTS 64 /* users and processes of root's, at a time */
#define SYSCALLTEXT_OWED \
	10000000000ULL /* ns until several names are made up for */

/* What names have taken beyond a turn's time for names, each by itself. */
struct syscalltext_debt {
	uint64_t owner;
	uint64_t until; /* CLOCK_MONOTONIC, ns: it is made up for then */
	bool is_due;    /* calls of others have waited */
	bool is_second; /* there was another not long before */
};

enum syscalltext_way {
	SYSCALLTEXT_AS_WHOLE,
	SYSCALLTEXT_AS_BRIEF,
	SYSCALLTEXT_AS_NONE,
};

struct syscalltext {
	struct shares_limit most, late_brief, late_most;
	struct shares_limit late_work; /* ns of CPU time */
	struct shares_limit turn_work; /* ns, since the turn began */
	uint64_t turn;                 /* CLOCK_MONOTONIC, ns: when it did */
	uint64_t now;   /* likewise, when a call was taken last */
	bool is_behind; /* calls wait long to be taken */
	struct syscalltext_debt debts[SYSCALLTEXT_DEBTS];
	size_t nr_debts;
	bool is_over; /* the end was reached: set by syscalltext_end() */
	uint64_t nr_brief, nr_none; /* calls */
};

void syscalltext_init(struct syscalltext *t);

/* From now on there are the limits of what waits at the end. */
void syscalltext_end(struct syscalltext *t);

/* Return true if calls of a process and a user aren't written any more. */
bool syscalltext_is_full(const struct syscalltext *t, pid_t pid, uid_t uid);

/*
 * A process' call is taken now that was made at a time: CLOCK_MONOTONIC, ns, both.  uid
 * -1: it isn't known whose it is.
 */
void syscalltext_see(struct syscalltext *t, uint64_t now, uint64_t made,
		     pid_t pid, uid_t uid);

/* Return true if there is no time for more names of theirs. */
bool syscalltext_is_late(const struct syscalltext *t, pid_t pid, uid_t uid);

/* Names of a process' call took so many ns. */
void syscalltext_work(struct syscalltext *t, pid_t pid, uid_t uid, uint64_t ns);

/* Take size bytes for a call, and return how it is to be written. */
enum syscalltext_way syscalltext_take(struct syscalltext *t, pid_t pid,
				      uid_t uid, uint64_t size);

void syscalltext_deinit(struct syscalltext *t);

#endif /* OW_SYSCALLTEXT_H */
