// SPDX-License-Identifier: BSD-2-Clause
#include "tablekeeper.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <unistd.h>

#include <outwind/outwind.h>

#include "clockns.h"
#include "commands.h"

#define LOOK_EVERY 1000000000 /* ns */

bool tablekeeper_open(struct tablekeeper *k)
{
	struct ow_error err;

	k->dev = ow_kunwind_open(&err);
	if (k->dev < 0)
		complain("%s", err.msg);
	return k->dev >= 0;
}

void tablekeeper_close(struct tablekeeper *k)
{
	if (k->dev >= 0)
		close(k->dev);
	k->dev = -1;
}

static void say(void *arg, const char *line)
{
	const struct tablekeeper *k = arg;

	if (k->verbose)
		complain("%s", line);
}

/* Do what is waiting. */
static bool serve(struct tablekeeper *k)
{
	struct ow_error err;

	if (ow_kunwind_serve(k->dev, &k->tally, say, k, &err) >= 0)
		return true;
	complain("%s", err.msg);
	return false;
}

static bool follow(struct tablekeeper *k, pid_t pid, bool must)
{
	struct ow_error err;

	if (ow_kunwind_follow_only(k->dev, pid, k->all ? 0 : OW_KUNWIND_INHERIT,
				   &err)) {
		if (must || k->verbose)
			complain("%s", err.msg);
		return false;
	}
	return serve(k);
}

bool tablekeeper_follow(struct tablekeeper *k, pid_t pid)
{
	return follow(k, pid, true);
}

/* Those that were there before; a kernel's thread can't be followed. */
static void follow_present(struct tablekeeper *k)
{
	DIR *proc = opendir("/proc");
	struct dirent *e;
	unsigned long pid;

	while (proc && (e = readdir(proc)))
		if (parse_number(e->d_name, 1, INT_MAX, &pid))
			follow(k, (pid_t)pid, false);
	if (proc)
		closedir(proc);
}

bool tablekeeper_follow_all(struct tablekeeper *k)
{
	struct ow_error err;

	k->all = true;
	if (ow_kunwind_follow_only(k->dev, 0, OW_KUNWIND_ALL, &err)) {
		complain("%s", err.msg);
		return false;
	}
	follow_present(k);
	return true;
}

/* For how long poll() may wait, in ms; -1: for ever. */
static int patience(const struct tablekeeper *k)
{
	uint64_t due = k->looked + LOOK_EVERY, now = clock_ns(CLOCK_MONOTONIC);

	if (!k->behind)
		return -1;
	return now < due ? (int)((due - now) / 1000000) + 1 : 0;
}

/*
 * Make up for what went by: look at all processes again, but not so often that a
 * process which makes many events keeps this one busy.
 */
static void catch_up(struct tablekeeper *k)
{
	if (!k->behind || clock_ns(CLOCK_MONOTONIC) < k->looked + LOOK_EVERY)
		return;
	k->behind = false;
	follow_present(k);
	k->looked = clock_ns(CLOCK_MONOTONIC);
}

/* Events were lost, or something could not be followed. */
static void note_lost(struct tablekeeper *k)
{
	if (k->all)
		k->behind = true;
	else if (!k->told)
		complain(
			"some that were forked or executed may not be "
			"followed: too much at once, or for the module's limits");
	k->told = true;
}

bool tablekeeper_wait(struct tablekeeper *k, int until)
{
	struct pollfd p[] = { { .fd = k->dev, .events = POLLIN },
			      { .fd = until, .events = POLLIN } };
	unsigned long lost = k->tally.lost;

	if (poll(p, 2, patience(k)) < 0 && errno != EINTR) {
		complain("poll %s: %m", OW_KUNWIND_DEVICE);
		return false;
	}
	if (!serve(k))
		return false;
	if (k->tally.lost != lost)
		note_lost(k);
	catch_up(k);
	return true;
}

bool tablekeeper_is_idle(const struct tablekeeper *k)
{
	return !k->all && k->tally.exited >= k->tally.followed;
}
