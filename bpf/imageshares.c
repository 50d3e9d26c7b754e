// SPDX-License-Identifier: BSD-2-Clause
#include "imageshares.h"

#include <stdio.h>
#include <stdlib.h>

#include "leftout.h"
#include "monotonic.h"

#define OPENED_NS 250000000 /* until one object of a user's counts no more */

/*
 * A mapping takes some 2 us to be listed, and a look some 60 us more.  So a user's
 * processes get a look at 133,000 mappings at once and take some 7 % of a CPU after
 * that; all users' together get twice as many, and take some 30 %.
 */
#define MAPPING_NS  30000
#define LOOK_NS     1000000
#define AT_ONCE_NS  4000000000
#define TIME_PART   2 /* of the time is a user's, if that is less than it takes */
#define USERS_SHARE 4 /* of all users' time, what one user's counts there: */

#define BEHIND_NS \
	200000000 /* stacks wait longer: there is more than can be walked */
#define WALK_ONCE_NS 500000000 /* of time that a user may be ahead, */
#define WALK_MOST_NS \
	1500000000 /* and more of it isn't held against that user */

/* The user's share; NULL without memory for it. */
static struct ow_image_share *share_of(struct ow_images *im, uid_t uid)
{
	struct ow_image_share *more;
	size_t i;

	for (i = 0; i < im->nr_shares; i++)
		if (im->shares[i].uid == uid)
			return &im->shares[i];
	more = realloc(im->shares, (im->nr_shares + 1) * sizeof(*more));
	if (!more)
		return NULL;
	im->shares = more;
	more[im->nr_shares] =
		(struct ow_image_share){ .uid = uid, .as_of_ns = ow_now_ns() };
	return &more[im->nr_shares++];
}

/* What was opened long ago has been closed, or counts in all. */
static void settle(struct ow_image_share *share)
{
	uint64_t now = ow_now_ns(), nr = (now - share->as_of_ns) / OPENED_NS;

	share->as_of_ns += nr * OPENED_NS;
	share->nr_opened -= nr < share->nr_opened ? (uint32_t)nr :
						    share->nr_opened;
}

bool ow_imageshares_may_open(struct ow_images *im, uid_t uid)
{
	struct ow_image_share *share;

	if (uid == 0)
		return true;
	share = share_of(im, uid);
	if (share)
		settle(share);
	return share && share->nr_opened < OW_RECORD_FILES_USER;
}

void ow_imageshares_opened(struct ow_images *im, uid_t uid)
{
	struct ow_image_share *share = share_of(im, uid);

	if (share)
		share->nr_opened++;
}

/* Return true if what was looked at until then leaves time for more. */
static bool has_time(uint64_t until, uint64_t at_once)
{
	return until <= ow_now_ns() + at_once;
}

/* Note, once, whose processes there was no time for. */
static void lose(uid_t uid, const char *what)
{
	char whose[48];

	if (uid == (uid_t)-1)
		snprintf(whose, sizeof(whose), "processes of unknown users");
	else
		snprintf(whose, sizeof(whose), "processes of user %u", uid);
	ow_lose_file(whose, what);
}

bool ow_imageshares_may_look(struct ow_images *im, uid_t uid)
{
	const struct ow_image_share *share;

	if (uid == 0)
		return true;
	share = share_of(im, uid);
	if (share && has_time(share->looked_until, AT_ONCE_NS) &&
	    has_time(im->looked_until, 2 * AT_ONCE_NS / USERS_SHARE))
		return true;
	lose(uid, "there was no time to look at all that they map");
	return false;
}

static void add(uint64_t *until, uint64_t ns)
{
	uint64_t now = ow_now_ns();

	*until = (*until > now ? *until : now) + ns;
}

void ow_imageshares_looked(struct ow_images *im, uid_t uid, size_t nr)
{
	struct ow_image_share *share = uid == 0 ? NULL : share_of(im, uid);
	uint64_t ns = LOOK_NS + nr * MAPPING_NS;

	if (!share)
		return;
	add(&share->looked_until, ns);
	add(&im->looked_until, ns / USERS_SHARE);
}

void ow_imageshares_spent(struct ow_images *im, uid_t uid, uint64_t ns)
{
	struct ow_image_share *share = uid == 0 ? NULL : share_of(im, uid);

	if (share)
		add(&share->looked_until, TIME_PART * ns);
}

bool ow_imageshares_may_walk(struct ow_images *im, uid_t uid, uint64_t time)
{
	const struct ow_image_share *share;

	if (uid == 0 || time + BEHIND_NS > ow_now_ns())
		return true;
	share = share_of(im, uid);
	if (share && has_time(share->walked_until, WALK_ONCE_NS))
		return true;
	lose(uid, "there was no time to walk all their stacks");
	return false;
}

void ow_imageshares_walked(struct ow_images *im, uid_t uid, uint64_t ns)
{
	struct ow_image_share *share = uid == 0 ? NULL : share_of(im, uid);
	uint64_t most = ow_now_ns() + WALK_MOST_NS;

	if (!share)
		return;
	add(&share->walked_until, TIME_PART * ns);
	if (share->walked_until > most)
		share->walked_until = most;
}

void ow_imageshares_deinit(struct ow_images *im)
{
	free(im->shares);
}
