// SPDX-License-Identifier: BSD-2-Clause
#include "bulk.h"

#include "monotonic.h"
#include "userefforts.h"

#define MOST     ((int64_t)1 << 30) /* bytes: holes of a file take 2 ns each */
#define A_SECOND ((int64_t)64 << 20)
#define SHARES   4
#define VAIN     64 /* as many bytes is one of packed ones that hold nothing */

/* Microseconds of the CPU; and for what is of no user's share. */
#define MOST_US         1000000
#define US_A_SECOND     20000
#define OWN_MOST_US     20000000
#define OWN_US_A_SECOND 1000000

#define RETRY_US   (MOST_US / 10) /* that are left, before a first try again */
#define RETRY_MOST (MOST_US / 2)

static struct ow_userefforts efforts[OW_NR_BULKS] = {
	[0 ... OW_NR_BULKS - 1] = OW_USEREFFORTS(MOST, A_SECOND)
};

static struct ow_userefforts times = OW_USEREFFORTS_BESIDE(
	OWN_MOST_US, OWN_US_A_SECOND, MOST_US, US_A_SECOND);

bool ow_bulk_has_time_beyond(const struct ow_owner *own, uint64_t *since,
			     uint64_t usual_ns)
{
	uint64_t now = ow_cpu_ns() / 1000, usual = usual_ns / 1000;

	if (*since && now > *since + usual)
		ow_userefforts_spend(&times, own->share, now - *since - usual);
	*since = now ? now : 1;
	return ow_userefforts_left(&times, own->share) > 0;
}

bool ow_bulk_has_time(const struct ow_owner *own, uint64_t *since)
{
	return ow_bulk_has_time_beyond(own, since, 0);
}

bool ow_bulk_may_retry(const struct ow_owner *own, unsigned int nr_failed)
{
	uint64_t wanted = RETRY_US;

	for (; nr_failed > 1 && wanted < RETRY_MOST; nr_failed--)
		wanted *= 2;
	if (wanted > RETRY_MOST)
		wanted = RETRY_MOST;
	return ow_userefforts_left(&times, own->share) >= wanted;
}

bool ow_bulk_take(enum ow_bulk which, const struct ow_owner *own,
		  uint64_t bytes)
{
	struct ow_userefforts *e = &efforts[which];

	if (bytes > ow_userefforts_left(e, own->share) / SHARES)
		return false;
	ow_userefforts_spend(e, own->share, bytes);
	return true;
}

bool ow_bulk_next_piece(struct ow_bulk_packed *p, const struct ow_owner *own,
			uint64_t unpacked)
{
	uint64_t weight = p->weight ? p->weight : 1;

	if (unpacked - p->had < p->piece && weight < VAIN)
		weight = VAIN;
	if (!ow_bulk_has_time(own, &p->since) ||
	    !ow_bulk_take(OW_BULK_PACKED, own, weight * p->piece))
		return false;
	p->had = unpacked;
	p->piece = p->left < OW_BULK_PIECE ? p->left : OW_BULK_PIECE;
	p->left -= p->piece;
	return true;
}
