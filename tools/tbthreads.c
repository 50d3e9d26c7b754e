// SPDX-License-Identifier: BSD-2-Clause
#include "tbthreads.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "grow.h"
#include "reach.h"

/* All threads of a process, in the kernel's order: that of their birth. */
struct tasks {
	pid_t pid;
	bool with_states;
	pid_t *tids;
	char *states; /* a letter each */
	size_t nr, room;
	int error;
};

static bool add_task(struct tasks *t, pid_t tid)
{
	if (!ow_grow(&t->tids, &t->room, t->nr + 1, sizeof(*t->tids)))
		return false;
	t->tids[t->nr++] = tid;
	return true;
}

/* The letter in /proc/PID/task/TID/status, or '?' if the thread is gone. */
static char state_of(pid_t pid, pid_t tid)
{
	char path[64], state = '?', *text;
	const char *line;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/status", pid, tid);
	text = ow_reach_status(path);
	line = text ? strstr(text, "\nState:") : NULL;
	if (line)
		sscanf(line, "\nState:\t%c", &state);
	free(text);
	return state;
}

static bool add_tasks(struct tasks *t, DIR *dir)
{
	struct dirent *entry;
	bool good = true;

	do {
		ow_delegate_enter();
		entry = readdir(dir);
		ow_delegate_leave();
		if (entry && isdigit((unsigned char)entry->d_name[0]))
			good = add_task(t, atoi(entry->d_name));
	} while (good && entry);
	return good;
}

/* All that is asked of the kernel, by a process that may be lost. */
static void look_at_tasks(void *arg)
{
	struct tasks *t = arg;
	char path[32];
	size_t i;
	DIR *dir;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/task", t->pid);
	fd = ow_reach_open(path, O_RDONLY | O_DIRECTORY);
	dir = fd < 0 ? NULL : fdopendir(fd);
	t->error = errno;
	if (!dir)
		return;
	t->error = add_tasks(t, dir) ? 0 : ENOMEM;
	closedir(dir);
	if (!t->with_states || t->error)
		return;
	t->states = calloc(t->nr + 1, 1);
	for (i = 0; t->states && i < t->nr; i++)
		t->states[i] = state_of(t->pid, t->tids[i]);
	t->error = t->states ? 0 : ENOMEM;
}

static void free_tasks(struct tasks *t)
{
	if (t) {
		free(t->tids);
		free(t->states);
		free(t);
	}
}

static struct tasks *list_tasks(const struct tb_args *args, FILE *err)
{
	struct tasks *t = calloc(1, sizeof(*t));
	enum ow_delegation how;
	int error = ENOMEM;

	if (t) {
		t->pid = args->pid;
		t->with_states = args->states != NULL;
		how = ow_reach(look_at_tasks, t);
		error = how == OW_DELEGATION_DONE ? t->error :
			how == OW_DELEGATION_NONE ? errno :
						    ETIMEDOUT;
		if (!error)
			return t;
		if (how != OW_DELEGATION_LOST)
			free_tasks(t);
	}
	fprintf(err, "/proc/%d/task: %s\n", args->pid, strerror(error));
	return NULL;
}

/* Room for nr threads; an empty array still is no NULL. */
static bool make_room(struct tb_threads *t, size_t nr, FILE *err)
{
	t->tids = calloc(nr + 1, sizeof(*t->tids));
	t->numbers = calloc(nr + 1, sizeof(*t->numbers));
	t->states = calloc(nr + 1, 1);
	if (t->tids && t->numbers && t->states)
		return true;
	fputs("out of memory\n", err);
	return false;
}

/* Where tid stands among all, counted from 1, or 0. */
static int number_of(const struct tasks *all, pid_t tid)
{
	size_t i;

	for (i = 0; i < all->nr; i++)
		if (all->tids[i] == tid)
			return (int)i + 1;
	return 0;
}

/* All are ids, or else all are numbers. */
static bool choose_listed(struct tb_threads *t, const struct tasks *all,
			  const struct tb_args *args, FILE *err)
{
	size_t i, nr_ids = 0;
	pid_t given;

	for (i = 0; i < args->nr_threads; i++)
		nr_ids += number_of(all, args->threads[i]) > 0;
	for (i = 0; i < args->nr_threads; i++) {
		given = args->threads[i];
		t->numbers[i] = nr_ids ? number_of(all, given) : given;
		if (t->numbers[i] < 1 || (size_t)t->numbers[i] > all->nr) {
			fprintf(err, "unexpected thread %d\n", given);
			return false;
		}
		t->tids[i] = all->tids[t->numbers[i] - 1];
	}
	t->nr = args->nr_threads;
	free(t->states);
	t->states = NULL;
	return true;
}

static void choose_in_states(struct tb_threads *t, const struct tasks *all,
			     const struct tb_args *args)
{
	size_t i;
	char state;

	for (i = 0; i < all->nr; i++) {
		state = all->states[i];
		if (!strchr(args->states, state))
			continue;
		t->tids[t->nr] = all->tids[i];
		t->states[t->nr] = state;
		t->numbers[t->nr] = (int)t->nr + 1;
		t->nr++;
	}
}

bool tb_threads_choose(struct tb_threads *ret, const struct tb_args *args,
		       FILE *err)
{
	struct tasks *all = list_tasks(args, err);
	bool good;

	*ret = (struct tb_threads){ 0 };
	good = all &&
	       make_room(ret, args->states ? all->nr : args->nr_threads, err);
	if (good && args->states)
		choose_in_states(ret, all, args);
	else if (good)
		good = choose_listed(ret, all, args, err);
	free_tasks(all);
	return good;
}

void tb_threads_free(struct tb_threads *t)
{
	free(t->tids);
	free(t->numbers);
	free(t->states);
}
