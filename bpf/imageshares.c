// SPDX-License-Identifier: BSD-2-Clause
#include "imageshares.h"

#include <stdlib.h>

#include "leftout.h"
#include "monotonic.h"

#define OPENED_NS 250000000 /* until one object of a user's counts no more, */
#define OWN_NS    500000000 /* and one of a process's */

/*
 * A mapping takes some 2 us to be listed, and a look some 60 us more.  So a user's
 * processes get a look at 133,000 mappings at once and take some 7 % of a CPU after
 * that; all users' together get twice as many, and take some 30 %.
 */
#define MAPPING_NS  30000
#define LOOK_NS     1000000
#define AT_ONCE_NS  4000000000
#define USERS_SHARE 4 /* of all users' time, what one user's counts there: */

#define MOST_RANGES  (1U << 22) /* of all images, 32 bytes each, */
#define LEAST_RANGES (1U << 15) /* but for a user who has no more, */
#define FEW          64         /* or an image of so few */
#define ROOTS_FEW    1024       /* of a process of root's */

#define TIME_PART 2 /* of the time is all users', where they take more, */
#define LOOK_PART 4 /* and of what is left of it one look's, */
#define LEAST_NS  100000000 /* but so much at least, */
#define FIRST_NS  500000000 /* or so much of a user who has taken little */
#define BEHIND_NS 200000000 /* stacks wait longer: walks are behind */

/*
 * How far users may be ahead of the time that they may have, in nanoseconds.  There can be
 * any number of users, one person's, too: so their times are bounded together, and those
 * who have taken little go before others.
 */
struct limits {
	uint64_t little;         /* what a user has taken, at most, */
	uint64_t all_for_little; /* who may go on until all users are here; */
	uint64_t much;           /* any other user, and all together */
	uint64_t most;           /* more of it isn't held against a user */
};

static const struct limits limits[OW_IMAGE_NR_WORKS] = {
	[OW_IMAGE_LOOKS] = { 500000000, 8000000000, AT_ONCE_NS, 30000000000 },
	[OW_IMAGE_WALKS] = { 100000000, 1500000000, 500000000, 1500000000 },
};

/* Return true if nothing of a share counts any more. */
static bool is_over(const struct ow_image_share *share, uint64_t now)
{
	return share->looked_until <= now &&
	       share->spent_until[OW_IMAGE_LOOKS] <= now &&
	       share->spent_until[OW_IMAGE_WALKS] <= now &&
	       share->nr_ranges == 0 &&
	       (now - share->as_of_ns) / OPENED_NS >= share->nr_opened;
}

/* The user's share, maybe in the place of one that is over; NULL without memory for it. */
static struct ow_image_share *share_of(struct ow_images *im, uid_t uid)
{
	size_t i, free = im->nr_shares;
	struct ow_image_share *more;
	uint64_t now = ow_now_ns();

	for (i = 0; i < im->nr_shares; i++) {
		if (im->shares[i].uid == uid)
			return &im->shares[i];
		if (is_over(&im->shares[i], now))
			free = i;
	}
	if (free == im->nr_shares) {
		more = realloc(im->shares, (free + 1) * sizeof(*more));
		if (!more)
			return NULL;
		im->shares = more;
		im->nr_shares++;
	}
	im->shares[free] =
		(struct ow_image_share){ .uid = uid, .as_of_ns = now };
	return &im->shares[free];
}

/* What was opened long ago has been closed, or counts in all. */
static void settle(uint32_t *nr_opened, uint64_t *as_of_ns, uint64_t each_ns)
{
	uint64_t nr = (ow_now_ns() - *as_of_ns) / each_ns;

	*as_of_ns += nr * each_ns;
	*nr_opened -= nr < *nr_opened ? (uint32_t)nr : *nr_opened;
}

bool ow_imageshares_may_open(struct ow_images *im, uid_t uid,
			     struct ow_image_user *process)
{
	struct ow_image_share *share;

	settle(&process->nr_opened, &process->opened_as_of, OWN_NS);
	if (process->nr_opened >= OW_RECORD_FILES)
		return false;
	if (uid == 0)
		return true;
	share = share_of(im, uid);
	if (share)
		settle(&share->nr_opened, &share->as_of_ns, OPENED_NS);
	return share && share->nr_opened < OW_RECORD_FILES_USER;
}

void ow_imageshares_opened(struct ow_images *im, uid_t uid,
			   struct ow_image_user *process)
{
	struct ow_image_share *share = share_of(im, uid);

	process->nr_opened++;
	if (share)
		share->nr_opened++;
}

/* Return true if what was looked at until then leaves time for more. */
static bool has_time(uint64_t until, uint64_t at_once)
{
	return until <= ow_now_ns() + at_once;
}

/* Return true if a user has taken little enough of the time, as others have. */
static bool may_spend(const struct ow_images *im,
		      const struct ow_image_share *share,
		      enum ow_image_work work)
{
	uint64_t own = share->spent_until[work], all = im->spent_until[work];
	const struct limits *l = &limits[work];

	if (has_time(own, l->little))
		return has_time(all, l->all_for_little);
	return has_time(own, l->much) && has_time(all, l->much);
}

static void lose_looks(uid_t uid)
{
	ow_lose_processes(uid,
			  "there was no time to look at all that they map");
}

bool ow_imageshares_may_spend(struct ow_images *im, uid_t uid)
{
	const struct ow_image_share *share;

	if (uid == 0)
		return true;
	share = share_of(im, uid);
	if (share && may_spend(im, share, OW_IMAGE_LOOKS))
		return true;
	lose_looks(uid);
	return false;
}

bool ow_imageshares_may_look(struct ow_images *im, uid_t uid)
{
	const struct ow_image_share *share;

	if (uid == 0)
		return true;
	share = share_of(im, uid);
	if (share && has_time(share->looked_until, AT_ONCE_NS) &&
	    has_time(im->looked_until, 2 * AT_ONCE_NS / USERS_SHARE))
		return ow_imageshares_may_spend(im, uid);
	lose_looks(uid);
	return false;
}

/* As many as share the time, one at least, if a user who has taken until then is one. */
static uint64_t nr_sharing(const struct ow_images *im, enum ow_image_work work,
			   uint64_t until)
{
	uint64_t now = ow_now_ns(), nr = until <= now;
	size_t i;

	for (i = 0; i < im->nr_shares; i++)
		nr += im->shares[i].spent_until[work] > now;
	return nr ? nr : 1;
}

bool ow_imageshares_may_look_for(struct ow_images *im, uid_t uid, uint64_t ns)
{
	const struct limits *l = &limits[OW_IMAGE_LOOKS];
	const struct ow_image_share *share;
	uint64_t until;

	if (uid == 0 || !ns)
		return ow_imageshares_may_look(im, uid);
	share = share_of(im, uid);
	until = share ? share->spent_until[OW_IMAGE_LOOKS] : UINT64_MAX;
	ns *= TIME_PART * nr_sharing(im, OW_IMAGE_LOOKS, until);
	if (has_time(until, l->much - (ns < l->much ? ns : l->much)))
		return ow_imageshares_may_look(im, uid);
	lose_looks(uid);
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

/* Users who are busy at a time have an equal part of it each. */
static void spend(struct ow_images *im, struct ow_image_share *share,
		  enum ow_image_work work, uint64_t ns)
{
	uint64_t *until = &share->spent_until[work], now = ow_now_ns();
	uint64_t nr = nr_sharing(im, work, *until);

	add(until, TIME_PART * nr * ns);
	if (*until > now + limits[work].most)
		*until = now + limits[work].most;
}

/* The time that may be spent until a limit. */
static uint64_t time_left(uint64_t until, uint64_t limit)
{
	uint64_t end = ow_now_ns() + limit;

	if (until >= end)
		return 0;
	return (end - until < limit ? end - until : limit) / TIME_PART;
}

uint64_t ow_imageshares_look_ns(struct ow_images *im, uid_t uid, uint64_t most)
{
	const struct limits *l = &limits[OW_IMAGE_LOOKS];
	const struct ow_image_share *share;
	uint64_t ns, own, least;

	if (uid == 0)
		return most;
	share = share_of(im, uid);
	own = share ? share->spent_until[OW_IMAGE_LOOKS] : UINT64_MAX;
	least = has_time(own, l->little) ? FIRST_NS : LEAST_NS;
	own = time_left(own, l->much) / nr_sharing(im, OW_IMAGE_LOOKS, own);
	ns = time_left(im->spent_until[OW_IMAGE_LOOKS], l->all_for_little) /
	     LOOK_PART;
	ns = own < ns ? own : ns;
	ns = ns < least ? least : ns;
	return ns < most ? ns : most;
}

void ow_imageshares_spent(struct ow_images *im, uid_t uid, uint64_t ns)
{
	struct ow_image_share *share = uid == 0 ? NULL : share_of(im, uid);

	if (!share)
		return;
	spend(im, share, OW_IMAGE_LOOKS, ns);
	add(&im->spent_until[OW_IMAGE_LOOKS], TIME_PART * ns);
}

static bool is_behind(uint64_t time)
{
	return time + BEHIND_NS <= ow_now_ns();
}

bool ow_imageshares_may_walk(struct ow_images *im, uid_t uid, uint64_t time)
{
	const struct ow_image_share *share;

	if (uid == 0 || !is_behind(time))
		return true;
	share = share_of(im, uid);
	if (share && may_spend(im, share, OW_IMAGE_WALKS))
		return true;
	ow_lose_processes(uid, "there was no time to walk all their stacks");
	return false;
}

void ow_imageshares_walked(struct ow_images *im, uid_t uid, uint64_t time,
			   uint64_t ns)
{
	struct ow_image_share *share = uid == 0 ? NULL : share_of(im, uid);

	if (!share)
		return;
	spend(im, share, OW_IMAGE_WALKS, ns);
	/* Walks that aren't behind take nothing from other users. */
	if (is_behind(time))
		add(&im->spent_until[OW_IMAGE_WALKS], TIME_PART * ns);
}

bool ow_imageshares_may_map(struct ow_images *im, uid_t uid, uint32_t nr)
{
	const struct ow_image_share *share;
	size_t others;

	if (nr <= (uid == 0 ? ROOTS_FEW : FEW))
		return true;
	if (uid == 0)
		return im->nr_ranges + nr <= MOST_RANGES;
	share = share_of(im, uid);
	if (!share)
		return false;
	if (share->nr_ranges + nr <= LEAST_RANGES)
		return true;
	others = im->nr_ranges - share->nr_ranges;
	return others < MOST_RANGES &&
	       share->nr_ranges + nr <= (MOST_RANGES - others) / 2;
}

void ow_imageshares_mapped(struct ow_images *im, uid_t uid,
			   struct ow_image *image)
{
	struct ow_image_share *share;

	if (!image || uid == 0 || image->nr <= FEW)
		return;
	share = share_of(im, uid);
	if (!share)
		return;
	share->nr_ranges += image->nr;
	image->uid = uid;
	image->nr_counted = image->nr;
}

void ow_images_uncount(const struct ow_images *im, struct ow_image *image,
		       uint32_t nr)
{
	size_t i = 0;

	if (!image->nr_counted)
		return;
	while (i < im->nr_shares && im->shares[i].uid != image->uid)
		i++;
	if (i < im->nr_shares)
		im->shares[i].nr_ranges -= nr;
	image->nr_counted -= nr;
}

void ow_images_move_shares(struct ow_images *to, struct ow_images *from)
{
	size_t i;

	to->shares = from->shares;
	to->nr_shares = from->nr_shares;
	to->looked_until = from->looked_until;
	for (i = 0; i < OW_IMAGE_NR_WORKS; i++)
		to->spent_until[i] = from->spent_until[i];
	from->shares = NULL;
	from->nr_shares = 0;
	for (i = 0; i < to->nr_shares; i++) {
		to->shares[i].nr_opened = 0;
		to->shares[i].nr_ranges = 0;
	}
}

void ow_imageshares_deinit(struct ow_images *im)
{
	free(im->shares);
}
