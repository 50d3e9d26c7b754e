// SPDX-License-Identifier: BSD-2-Clause
#include "tablesdue.h"

#include <stdlib.h>
#include <string.h>

#include "grow.h"

#define TIME_PART 4              /* of the time is a user's */
#define AHEAD_NS  40000000000ULL /* that a user may be ahead of it, */
#define HASTE_NS  4000000000ULL  /* and before others who run */

bool ow_tablesdue_add(struct ow_tablesdue *d, const struct ow_tabledue *one)
{
	if (!ow_grow(&d->all, &d->room, d->nr + 1, sizeof(*d->all)))
		return false;
	d->all[d->nr++] = *one;
	return true;
}

static struct ow_tabledue *find(struct ow_tablesdue *d, uint32_t number)
{
	size_t i;

	for (i = 0; i < d->nr; i++)
		if (d->all[i].number == number)
			return &d->all[i];
	return NULL;
}

bool ow_tablesdue_is_any(const struct ow_tablesdue *d, uint64_t now)
{
	size_t i;

	for (i = 0; i < d->nr; i++)
		if (!ow_tablesdue_must_wait(d, d->all[i].uid, now))
			return true;
	return false;
}

static void take_out(struct ow_tablesdue *d, struct ow_tabledue *one)
{
	memmove(one, one + 1, (size_t)(d->all + --d->nr - one) * sizeof(*one));
}

bool ow_tablesdue_drop(struct ow_tablesdue *d, uint32_t number)
{
	struct ow_tabledue *one = find(d, number);

	if (!one)
		return false;
	take_out(d, one);
	return true;
}

static void need(const struct ow_tablesdue *d, struct ow_tabledue *one,
		 uid_t uid)
{
	if (one->uid != uid && ow_usertimes_until(&d->times, uid) <
				       ow_usertimes_until(&d->times, one->uid))
		one->uid = uid;
}

void ow_tablesdue_need(struct ow_tablesdue *d, uint32_t number, uid_t uid)
{
	struct ow_tabledue *one = find(d, number);

	if (one)
		need(d, one, uid);
}

void ow_tablesdue_ask(struct ow_tablesdue *d, uint32_t number, uid_t uid)
{
	struct ow_tabledue *one = find(d, number);

	if (!one)
		return;
	one->is_asked = true;
	need(d, one, uid);
}

static bool is_urgent(const struct ow_tablesdue *d, const struct ow_tabledue *a,
		      const struct ow_tabledue *than)
{
	if (a->is_asked != than->is_asked)
		return a->is_asked;
	return a->uid != than->uid &&
	       ow_usertimes_until(&d->times, a->uid) <
		       ow_usertimes_until(&d->times, than->uid);
}

bool ow_tablesdue_must_wait(const struct ow_tablesdue *d, uid_t uid,
			    uint64_t now)
{
	return ow_usertimes_until(&d->times, uid) > now + AHEAD_NS;
}

bool ow_tablesdue_take(struct ow_tablesdue *d, bool may_be_large, uint64_t now,
		       struct ow_tabledue *ret)
{
	size_t first = d->nr, i;

	for (i = 0; i < d->nr; i++) {
		if (d->all[i].is_large && !may_be_large)
			continue;
		if (ow_tablesdue_must_wait(d, d->all[i].uid, now))
			continue;
		if (first == d->nr || is_urgent(d, &d->all[i], &d->all[first]))
			first = i;
	}
	if (first == d->nr)
		return false;
	*ret = d->all[first];
	ret->is_unhurried = ow_usertimes_until(&d->times, ret->uid) >
			    now + HASTE_NS;
	take_out(d, &d->all[first]);
	return true;
}

void ow_tablesdue_pay(struct ow_tablesdue *d, uid_t uid, uint64_t ns,
		      uint64_t now)
{
	ow_usertimes_pay(&d->times, uid, TIME_PART * ns, now);
}

void ow_tablesdue_clear(struct ow_tablesdue *d)
{
	d->nr = 0;
}

void ow_tablesdue_deinit(struct ow_tablesdue *d)
{
	free(d->all);
	ow_usertimes_deinit(&d->times);
}
