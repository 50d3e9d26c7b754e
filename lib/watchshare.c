// SPDX-License-Identifier: BSD-2-Clause
#include "watchshare.h"

#include <pthread.h>
#include <sys/resource.h>

#include "effort.h"

#define MIB         ((int64_t)1 << 20)
#define A_WAIT      ((uint64_t)256 << 10) /* bytes; the kernel reads half as many */
#define USERS_SHARE 2                     /* a user gets one part of so many */
#define MOST_USERS \
	256 /* others than root; those who come later share the last part */

/* What comes back in a second takes 20 milliseconds, and 300 from a disk. */
static struct ow_effort all[OW_NR_WATCHSHARES] = {
	[OW_WATCHSHARE_BEGIN] = OW_EFFORT(256 * MIB, 16 * MIB),
	[OW_WATCHSHARE_AGAIN] = OW_EFFORT(512 * MIB, 32 * MIB),
	[OW_WATCHSHARE_LAST] = OW_EFFORT(1024 * MIB, 32 * MIB),
	[OW_WATCHSHARE_ALIKE] = OW_EFFORT(256 * MIB, 16 * MIB),
};

struct share {
	uid_t user;
	struct ow_effort efforts[OW_NR_WATCHSHARES];
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct share shares[MOST_USERS];
static size_t nr_shares;

static struct share *add_share(uid_t user)
{
	struct share *s = &shares[nr_shares++];

	s->user = user;
	for (size_t i = 0; i < OW_NR_WATCHSHARES; i++)
		s->efforts[i] = (struct ow_effort)OW_EFFORT(
			all[i].most / USERS_SHARE,
			all[i].a_second / USERS_SHARE);
	return s;
}

static struct share *find_share(uid_t user)
{
	for (size_t i = 0; i < nr_shares; i++)
		if (shares[i].user == user)
			return &shares[i];
	return nr_shares < MOST_USERS ? add_share(user) :
					&shares[MOST_USERS - 1];
}

/* The user's effort; NULL: root has no other than all. */
static struct ow_effort *effort_of(enum ow_watchshare which, uid_t user)
{
	struct share *s;

	if (user == 0)
		return NULL;
	pthread_mutex_lock(&lock);
	s = find_share(user);
	pthread_mutex_unlock(&lock);
	return &s->efforts[which];
}

uint64_t ow_watchshare_left(enum ow_watchshare which, uid_t user)
{
	struct ow_effort *own = effort_of(which, user);
	uint64_t left = ow_effort_left(&all[which]);
	uint64_t own_left = own ? ow_effort_left(own) : left;

	return own_left < left ? own_left : left;
}

uint64_t ow_watchshare_waits(void)
{
	struct rusage usage;

	return getrusage(RUSAGE_THREAD, &usage) ? 0 : (uint64_t)usage.ru_majflt;
}

void ow_watchshare_spend(enum ow_watchshare which, uid_t user, uint64_t bytes,
			 uint64_t waits)
{
	struct ow_effort *own = effort_of(which, user);
	uint64_t units = bytes + waits * A_WAIT;
	uint64_t left = own ? ow_effort_left(own) : units;

	/* What a user takes beyond the share is that user's debt alone. */
	ow_effort_spend(&all[which], units < left ? units : left);
	if (own)
		ow_effort_spend(own, units);
}
