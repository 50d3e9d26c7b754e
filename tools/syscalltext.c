// SPDX-License-Identifier: BSD-2-Clause
#include "syscalltext.h"

#define PROCESS 6 /* eighths */
#define USER    7

static void init(struct syscalltext_limit *l, uint64_t most)
{
	l->processes = (struct shares){ .most = most, .eighths = PROCESS };
	l->users = (struct shares){ .most = most, .eighths = USER };
}

static void deinit(struct syscalltext_limit *l)
{
	shares_deinit(&l->processes);
	shares_deinit(&l->users);
}

static bool may_take(const struct syscalltext_limit *l, pid_t pid, uid_t uid,
		     uint64_t size)
{
	return size <= shares_left(&l->processes, (uint64_t)pid) &&
	       (uid == 0 || size <= shares_left(&l->users, uid));
}

static void take(struct syscalltext_limit *l, pid_t pid, uid_t uid,
		 uint64_t size)
{
	shares_take(&l->processes, (uint64_t)pid, size);
	shares_take(&l->users, uid, size);
}

void syscalltext_init(struct syscalltext *t)
{
	*t = (struct syscalltext){ 0 };
	init(&t->most, SYSCALLTEXT_MOST);
	init(&t->late_brief, SYSCALLTEXT_LATE / 2);
	init(&t->late_most, SYSCALLTEXT_LATE / 2);
	init(&t->late_work, SYSCALLTEXT_WORK);
}

void syscalltext_end(struct syscalltext *t)
{
	t->is_over = true;
}

bool syscalltext_is_full(const struct syscalltext *t, pid_t pid, uid_t uid)
{
	return t->is_over &&
	       !may_take(&t->late_brief, pid, uid, SYSCALLTEXT_BRIEF);
}

bool syscalltext_is_late(const struct syscalltext *t, pid_t pid, uid_t uid)
{
	return t->is_over && !may_take(&t->late_work, pid, uid, 1);
}

void syscalltext_work(struct syscalltext *t, pid_t pid, uid_t uid, uint64_t ns)
{
	if (t->is_over)
		take(&t->late_work, pid, uid, ns);
}

/* Take what is beyond the bytes that are always written, if it may be taken. */
static bool take_long(struct syscalltext *t, pid_t pid, uid_t uid,
		      uint64_t size)
{
	if (!may_take(&t->most, pid, uid, size) ||
	    (t->is_over && !may_take(&t->late_most, pid, uid, size)))
		return false;
	take(&t->most, pid, uid, size);
	if (t->is_over)
		take(&t->late_most, pid, uid, size);
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
		take(&t->late_brief, pid, uid,
		     is_long ? SYSCALLTEXT_BRIEF : size);
	if (!is_long || take_long(t, pid, uid, size - SYSCALLTEXT_BRIEF))
		return SYSCALLTEXT_AS_WHOLE;
	shares_refuse(&t->most.processes, (uint64_t)pid);
	t->nr_brief++;
	return SYSCALLTEXT_AS_BRIEF;
}

void syscalltext_deinit(struct syscalltext *t)
{
	deinit(&t->most);
	deinit(&t->late_brief);
	deinit(&t->late_most);
	deinit(&t->late_work);
}
