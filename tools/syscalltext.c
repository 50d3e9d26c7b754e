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

void syscalltext_see(struct syscalltext *t, uint64_t now, uint64_t made)
{
	t->is_behind = now > made && now - made > SYSCALLTEXT_WAIT;
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
	return t->is_behind && !shares_limit_allows(&t->turn_work, pid, uid, 1);
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
		shares_refuse(&t->late_brief.processes, (uint64_t)pid);
		t->nr_none++;
		return SYSCALLTEXT_AS_NONE;
	}
	if (t->is_over)
		shares_limit_take(&t->late_brief, pid, uid,
				  is_long ? SYSCALLTEXT_BRIEF : size);
	if (!is_long || take_long(t, pid, uid, size - SYSCALLTEXT_BRIEF))
		return SYSCALLTEXT_AS_WHOLE;
	shares_refuse(&t->most.processes, (uint64_t)pid);
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
