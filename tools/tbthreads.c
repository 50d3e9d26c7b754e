// SPDX-License-Identifier: BSD-2-Clause
#include "tbthreads.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "grow.h"

/* All threads of a process, in the kernel's order: that of their birth. */
struct tasks {
	pid_t *tids;
	size_t nr, room;
};

static bool add_task(struct tasks *t, pid_t tid)
{
	if (!ow_grow(&t->tids, &t->room, t->nr + 1, sizeof(*t->tids)))
		return false;
	t->tids[t->nr++] = tid;
	return true;
}

static bool list_tasks(struct tasks *t, pid_t pid, FILE *err)
{
	struct dirent *entry;
	bool good = true;
	char path[32];
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	dir = opendir(path);
	if (!dir) {
		fprintf(err, "%s: %s\n", path, strerror(errno));
		return false;
	}
	while (good && (entry = readdir(dir)))
		if (isdigit((unsigned char)entry->d_name[0]))
			good = add_task(t, atoi(entry->d_name));
	closedir(dir);
	if (!good)
		fputs("out of memory\n", err);
	return good;
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

/* The letter in /proc/PID/task/TID/status, or '?' if the thread is gone. */
static char state_of(pid_t pid, pid_t tid)
{
	char path[64], line[256], state = '?';
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/status", pid, tid);
	f = fopen(path, "re");
	while (f && state == '?' && fgets(line, sizeof(line), f))
		sscanf(line, "State:\t%c", &state);
	if (f)
		fclose(f);
	return state;
}

static void choose_in_states(struct tb_threads *t, const struct tasks *all,
			     const struct tb_args *args)
{
	size_t i;
	char state;

	for (i = 0; i < all->nr; i++) {
		state = state_of(args->pid, all->tids[i]);
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
	struct tasks all = { 0 };
	bool good;

	*ret = (struct tb_threads){ 0 };
	good = list_tasks(&all, args->pid, err) &&
	       make_room(ret, args->states ? all.nr : args->nr_threads, err);
	if (good && args->states)
		choose_in_states(ret, &all, args);
	else if (good)
		good = choose_listed(ret, &all, args, err);
	free(all.tids);
	return good;
}

void tb_threads_free(struct tb_threads *t)
{
	free(t->tids);
	free(t->numbers);
	free(t->states);
}
