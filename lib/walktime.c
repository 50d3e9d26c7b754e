// SPDX-License-Identifier: BSD-2-Clause
#include "walktime.h"

#include "monotonic.h"
#include "userefforts.h"

#define MOST     5000000000 /* ns */
#define A_SECOND 200000000
#define SHARES   4

/*
 * A frame takes 10 ns where its row is in the cache, and 300 where it is in none; of the
 * first stacks of a process, in whose files nobody has looked yet, a few microseconds.
 */
#define FAIR_NS 300
#define FEW     64 /* frames that a piece counts as more than it has */

/* Frames between looks at the time. */
#define PIECE_NS    10000 /* that each of them may take, to end in time */
#define LEAST_PIECE 256
#define MOST_PIECE  4096

#define CLOSER 64

static struct ow_userefforts efforts = OW_USEREFFORTS(MOST, A_SECOND);

unsigned int ow_walktime_piece(struct ow_walktime *t)
{
	uint64_t nr;

	if (++t->nr == 1)
		return LEAST_PIECE;
	if (t->nr == 2)
		t->left = ow_userefforts_left(&efforts, t->share) / SHARES;
	nr = t->left / PIECE_NS;
	if (nr < LEAST_PIECE)
		return LEAST_PIECE;
	return nr < MOST_PIECE ? (unsigned int)nr : MOST_PIECE;
}

static bool is_timed(const struct ow_walktime *t)
{
	return t->nr > 1;
}

/*
 * The clock on the wall is read in a tenth of the time that the CPU's takes, and what is
 * short by it took the CPU no longer.
 */
static uint64_t read_clock(const struct ow_walktime *t)
{
	return t->closer ? ow_cpu_ns() : ow_now_ns();
}

void ow_walktime_start(struct ow_walktime *t)
{
	if (is_timed(t))
		t->since = read_clock(t);
}

bool ow_walktime_stop(struct ow_walktime *t, unsigned int nr)
{
	uint64_t fair = ((uint64_t)nr + FEW) * FAIR_NS;
	bool is_by_cpu = t->closer > 0;
	uint64_t took;

	if (!is_timed(t))
		return true;
	took = read_clock(t) - t->since;
	if (took <= fair) {
		t->closer -= is_by_cpu;
		return true;
	}
	t->closer = CLOSER;
	if (!is_by_cpu)
		return true;
	ow_userefforts_spend(&efforts, t->share, took - fair);
	return ow_effort_use(&t->left, took - fair);
}
