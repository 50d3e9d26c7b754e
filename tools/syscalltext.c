// SPDX-License-Identifier: BSD-2-Clause
#include "syscalltext.h"

void syscalltext_init(struct syscalltext *t)
{
	*t = (struct syscalltext){ 0 };
	shares_limit_init(&t->most, SYSCALLTEXT_MOST);
	shares_limit_init(&t->late_brief, SYSCALLTEXT_LATE / 2);
	shares_limit_init(&t->late_most, SYSCALLTEXT_LATE / 2);
	shares_limit_init(&t->late_work, SYSCALLTEXT_WORK);
	shares_limit_init(&t->turn_work, SYSCALLTEXT_NAMES);
}

void syscalltext_end(struct syscalltext *t)
{
	t->is_over = true;
}

bool syscalltext_is_full(const struct syscalltext *t, pid_t pid, uid_t uid)
{
	return t->is_over && !shares_limit_allows(&t->late_brief, pid, uid,
						  SYSCALLTEXT_BRIEF);
}

/* Who makes up for a name: a user, or a process of root's. */
static uint64_t owner_of(pid_t pid, uid_t uid)
{
	return uid ? uid : (uint64_t)1 << 32 | (uint32_t)pid;
}

/* Its index, or nr_debts. */
static size_t find_debt(const struct syscalltext *t, uint64_t owner)
{
	size_t i;

	for (i = 0; i < t->nr_debts && t->debts[i].owner != owner; i++)
		;
	return i;
}

/* Another debt, maybe in the place of the one that is made up for first. */
static struct syscalltext_debt *add_debt(struct syscalltext *t, uint64_t owner)
{
	struct syscalltext_debt *debt = &t->debts[0];
	size_t i;

	for (i = 1; i < t->nr_debts; i++)
		if (t->debts[i].until < debt->until)
			debt = &t->debts[i];
	if (t->nr_debts < SYSCALLTEXT_DEBTS)
		debt = &t->debts[t->nr_debts++];
	*debt = (struct syscalltext_debt){ .owner = owner };
	return debt;
}

/*
 * A name that took until now has taken so many ns beyond a turn's time for names.  Names
 * that nobody waits for add up to no more than so much.
 */
static void owe(struct syscalltext *t, uint64_t owner, uint64_t ns,
		uint64_t now)
{
	uint64_t end = t->turn + SYSCALLTEXT_TURN, most = SYSCALLTEXT_OWED;
	size_t i = find_debt(t, owner);
	struct syscalltext_debt *debt = i < t->nr_debts ? &t->debts[i] :
							  add_debt(t, owner);

	ns *= SYSCALLTEXT_TURN / SYSCALLTEXT_NAMES;
	if (debt->until <= t->now) {
		debt->is_due = false;
		debt->is_second = debt->until && debt->until + most > t->now;
	} else {
		debt->is_second = true;
	}
	if (debt->until < now)
		debt->until = end > now ? end : now;
	debt->until += ns;
	if (most < ns)
		most = ns;
	if (debt->until > now + most)
		debt->until = now + most;
}

/* A single long name, as of a large program's first call, holds up nobody later. */
static bool must_make_up(const struct syscalltext *t, pid_t pid, uid_t uid)
{
	size_t i = find_debt(t, owner_of(pid, uid));
	const struct syscalltext_debt *debt = &t->debts[i];

	return i < t->nr_debts && debt->is_due && debt->until > t->now &&
	       (debt->is_second || t->is_behind);
}

/* A call has waited, maybe for the names of others. */
static void note_waiting(struct syscalltext *t, uint64_t owner)
{
	size_t i;

	for (i = 0; i < t->nr_debts; i++)
		t->debts[i].is_due |= t->debts[i].owner != owner;
}

void syscalltext_see(struct syscalltext *t, uint64_t now, uint64_t made,
		     pid_t pid, uid_t uid)
{
	t->now = now;
	t->is_behind = now > made && now - made > SYSCALLTEXT_WAIT;
	if (t->is_behind && uid != (uid_t)-1)
		note_waiting(t, owner_of(pid, uid));
	if (now - t->turn < SYSCALLTEXT_TURN)
		return;
	t->turn = now;
	shares_limit_deinit(&t->turn_work);
	shares_limit_init(&t->turn_work, SYSCALLTEXT_NAMES);
}

bool syscalltext_is_late(const struct syscalltext *t, pid_t pid, uid_t uid)
{
	if (t->is_over)
		return !shares_limit_allows(&t->late_work, pid, uid, 1);
	return must_make_up(t, pid, uid) ||
	       (t->is_behind &&
		!shares_limit_allows(&t->turn_work, pid, uid, 1));
}

void syscalltext_work(struct syscalltext *t, pid_t pid, uid_t uid, uint64_t ns)
{
	uint64_t left;

	if (t->is_over) {
		shares_limit_take(&t->late_work, pid, uid, ns);
		return;
	}
	/* What is beyond its share is not to be taken from others'. */
	left = shares_limit_left(&t->turn_work, pid, uid);
	shares_limit_take(&t->turn_work, pid, uid, ns < left ? ns : left);
	if (ns > SYSCALLTEXT_NAMES)
		owe(t, owner_of(pid, uid), ns - SYSCALLTEXT_NAMES, t->now + ns);
}

/* Take what is beyond the bytes that are always written, if it may be taken. */
static bool take_long(struct syscalltext *t, pid_t pid, uid_t uid,
		      uint64_t size)
{
	if (!shares_limit_allows(&t->most, pid, uid, size) ||
	    (t->is_over && !shares_limit_allows(&t->late_most, pid, uid, size)))
		return false;
	shares_limit_take(&t->most, pid, uid, size);
	if (t->is_over)
		shares_limit_take(&t->late_most, pid, uid, size);
	return true;
}

enum syscalltext_way syscalltext_take(struct syscalltext *t, pid_t pid,
				      uid_t uid, uint64_t size)
{
	bool is_long = size > SYSCALLTEXT_BRIEF;

	if (syscalltext_is_full(t, pid, uid)) {
		shares_limit_refuse(&t->late_brief, pid, uid);
		t->nr_none++;
		return SYSCALLTEXT_AS_NONE;
	}
	if (t->is_over)
		shares_limit_take(&t->late_brief, pid, uid,
				  is_long ? SYSCALLTEXT_BRIEF : size);
	if (!is_long || take_long(t, pid, uid, size - SYSCALLTEXT_BRIEF))
		return SYSCALLTEXT_AS_WHOLE;
	shares_limit_refuse(&t->most, pid, uid);
	t->nr_brief++;
	return SYSCALLTEXT_AS_BRIEF;
}

void syscalltext_deinit(struct syscalltext *t)
{
	shares_limit_deinit(&t->most);
	shares_limit_deinit(&t->late_brief);
	shares_limit_deinit(&t->late_most);
	shares_limit_deinit(&t->late_work);
	shares_limit_deinit(&t->turn_work);
}
