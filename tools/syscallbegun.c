// SPDX-License-Identifier: BSD-2-Clause
#include "syscallbegun.h"

#include <stdlib.h>
#include <string.h>

#include "hash.h"

#define LEAST 256

/* Where a thread is, or belongs: a place that is free; there is one. */
static size_t place_of(const struct syscallsbegun *s, pid_t tid)
{
	size_t at = ow_hash_word((uint64_t)tid) & (s->room - 1);

	while (s->all[at] && s->all[at]->call.tid != tid)
		at = (at + 1) & (s->room - 1);
	return at;
}

struct syscall_begun *syscallbegun_find(struct syscallsbegun *s, pid_t tid)
{
	return s->room ? s->all[place_of(s, tid)] : NULL;
}

/* Half of the places stay free. */
static bool grow(struct syscallsbegun *s)
{
	struct syscall_begun **old = s->all, **more;
	size_t room = s->room ? 2 * s->room : LEAST, nr = s->room, i;

	if (2 * (s->nr + 1) <= s->room)
		return true;
	more = calloc(room, sizeof(struct syscall_begun *));
	if (!more)
		return false;
	s->all = more;
	s->room = room;
	for (i = 0; i < nr; i++)
		if (old[i])
			s->all[place_of(s, old[i]->call.tid)] = old[i];
	free(old);
	return true;
}

static struct syscall_begun *insert(struct syscallsbegun *s, pid_t tid)
{
	struct syscall_begun *b = grow(s) ? calloc(1, sizeof(*b)) : NULL;

	if (!b)
		return NULL;
	b->call.tid = tid;
	s->all[place_of(s, tid)] = b;
	s->nr++;
	return b;
}

bool syscallbegun_is_exec(int nr)
{
	const char *name = ow_syscall_text(nr);

	return name && strncmp(name, "execve", 6) == 0;
}

static struct syscall_begun **execs_of(struct syscallsbegun *s, pid_t pid)
{
	return &s->execs[ow_hash_word((uint64_t)pid) & (SYSCALLBEGUN_EXECS - 1)];
}

/* The call executes a program, from now on. */
static void add_exec(struct syscallsbegun *s, struct syscall_begun *b)
{
	struct syscall_begun **head = execs_of(s, b->call.pid);

	b->next = *head;
	b->link = head;
	if (b->next)
		b->next->link = &b->next;
	*head = b;
}

/* It doesn't any more, if it did. */
static void remove_exec(struct syscall_begun *b)
{
	if (!b->link)
		return;
	*b->link = b->next;
	if (b->next)
		b->next->link = b->link;
	b->next = NULL;
	b->link = NULL;
}

/* The call goes on, or doesn't any more. */
static void set_open(struct syscallsbegun *s, struct syscall_begun *b,
		     bool is_open)
{
	remove_exec(b);
	b->is_open = is_open;
	if (is_open && syscallbegun_is_exec(b->call.nr))
		add_exec(s, b);
}

void syscallbegun_close(struct syscallsbegun *s, struct syscall_begun *b)
{
	set_open(s, b, false);
	free(b->text);
	b->text = NULL;
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
	set_open(s, b, false);
	b->call = *call;
	b->call.text = NULL;
	b->call.stack = NULL; /* it isn't kept */
	b->uid = call->stack ? call->stack->uid : (uid_t)-1;
	b->site = NULL;
	syscallbegun_set_text(b, call);
	set_open(s, b, true);
	return true;
}

struct syscall_begun *syscallbegun_end(struct syscallsbegun *s,
				       const struct ow_recorded_syscall *end)
{
	struct syscall_begun *b = syscallbegun_find(s, end->tid);
	bool is_exec;

	if (b && b->is_open && b->call.nr == end->nr)
		return b;
	/* It may end as another ABI's. */
	is_exec = end->result == 0 && syscallbegun_is_exec(end->nr);
	if (is_exec && b && b->is_open && syscallbegun_is_exec(b->call.nr))
		return b;
	if (!is_exec)
		return NULL;
	for (b = *execs_of(s, end->pid); b; b = b->next)
		if (b->call.pid == end->pid)
			return b;
	return NULL;
}

static void destroy(struct syscall_begun *b)
{
	if (b)
		free(b->text);
	free(b);
}

/* What follows without a gap may belong to the place that is free now, or before it. */
static void close_gap(struct syscallsbegun *s, size_t gap)
{
	size_t at = gap, place;
	struct syscall_begun *b;

	for (;;) {
		at = (at + 1) & (s->room - 1);
		b = s->all[at];
		if (!b)
			return;
		s->all[at] = NULL;
		place = place_of(s, b->call.tid);
		s->all[place] = b;
	}
}

void syscallbegun_remove(struct syscallsbegun *s, struct syscall_begun *b)
{
	size_t at = place_of(s, b->call.tid);

	set_open(s, b, false);
	destroy(b);
	s->all[at] = NULL;
	s->nr--;
	close_gap(s, at);
}

static int order(const void *a, const void *b)
{
	const struct syscall_begun *const *x = a, *const *y = b;

	return ((*x)->call.tid > (*y)->call.tid) -
	       ((*x)->call.tid < (*y)->call.tid);
}

struct syscall_begun **syscallsbegun_list(const struct syscallsbegun *s)
{
	struct syscall_begun **list =
		calloc(s->nr + 1, sizeof(struct syscall_begun *));
	size_t i, nr = 0;

	for (i = 0; list && i < s->room; i++)
		if (s->all[i])
			list[nr++] = s->all[i];
	if (list)
		qsort(list, nr, sizeof(struct syscall_begun *), order);
	return list;
}

void syscallsbegun_deinit(struct syscallsbegun *s)
{
	size_t i;

	for (i = 0; i < s->room; i++)
		destroy(s->all[i]);
	free(s->all);
	*s = (struct syscallsbegun){ 0 };
}
