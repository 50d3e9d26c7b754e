// SPDX-License-Identifier: BSD-2-Clause
#include "syscallbegun.h"

#include <stdlib.h>
#include <string.h>

#include "grow.h"

/* Where a thread is or belongs. */
static size_t place_of(const struct syscallsbegun *s, pid_t tid)
{
	size_t low = 0, high = s->nr, mid;

	while (low < high) {
		mid = low + (high - low) / 2;
		if (s->all[mid].call.tid < tid)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

struct syscall_begun *syscallbegun_find(struct syscallsbegun *s, pid_t tid)
{
	size_t at = place_of(s, tid);

	return at < s->nr && s->all[at].call.tid == tid ? &s->all[at] : NULL;
}

static struct syscall_begun *insert(struct syscallsbegun *s, pid_t tid)
{
	struct syscall_begun *more;
	size_t at = place_of(s, tid);

	if (!ow_grow(&s->all, &s->room, s->nr + 1, sizeof(*s->all)))
		return NULL;
	more = &s->all[at];
	memmove(more + 1, more, (s->nr++ - at) * sizeof(*more));
	*more = (struct syscall_begun){ .call.tid = tid };
	return more;
}

void syscallbegun_set_text(struct syscall_begun *b,
			   const struct ow_recorded_syscall *from)
{
	free(b->text);
	b->text = from->text ? malloc(from->text_size + 1) : NULL;
	if (b->text)
		memcpy(b->text, from->text, from->text_size + 1);
	b->call.text_size = from->text_size;
}

bool syscallbegun_add(struct syscallsbegun *s,
		      const struct ow_recorded_syscall *call)
{
	struct syscall_begun *b = syscallbegun_find(s, call->tid);

	if (!b)
		b = insert(s, call->tid);
	if (!b)
		return false;
	b->call = *call;
	b->call.text = NULL;
	b->call.stack = NULL; /* it isn't kept */
	b->uid = call->stack ? call->stack->uid : (uid_t)-1;
	b->site = NULL;
	syscallbegun_set_text(b, call);
	b->is_open = true;
	return true;
}

bool syscallbegun_is_exec(int nr)
{
	const char *name = ow_syscall_text(nr);

	return name && strncmp(name, "execve", 6) == 0;
}

struct syscall_begun *syscallbegun_end(struct syscallsbegun *s,
				       const struct ow_recorded_syscall *end)
{
	struct syscall_begun *b = syscallbegun_find(s, end->tid);
	bool is_exec;
	size_t i;

	if (b && b->is_open && b->call.nr == end->nr)
		return b;
	/* It may end as another ABI's. */
	is_exec = end->result == 0 && syscallbegun_is_exec(end->nr);
	if (is_exec && b && b->is_open && syscallbegun_is_exec(b->call.nr))
		return b;
	for (i = 0; is_exec && i < s->nr; i++) {
		b = &s->all[i];
		if (b->is_open && b->call.pid == end->pid &&
		    syscallbegun_is_exec(b->call.nr))
			return b;
	}
	return NULL;
}

void syscallbegun_remove(struct syscallsbegun *s, struct syscall_begun *b)
{
	free(b->text);
	s->nr--;
	memmove(b, b + 1, (size_t)(s->all + s->nr - b) * sizeof(*b));
}

void syscallsbegun_deinit(struct syscallsbegun *s)
{
	size_t i;

	for (i = 0; i < s->nr; i++)
		free(s->all[i].text);
	free(s->all);
	*s = (struct syscallsbegun){ 0 };
}
