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
#include "interrupt.h"

/* ns */
#define LOOK_EVERY    1000000000
#define LOOK_SELDOM   64000000000
#define WAIT_AT_MOST  3000000000 /* for locks that processes hold, in all */
#define WAIT_A_MOMENT 1000000    /* and what takes longer is such a wait */

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

static bool must_end(void *arg)
{
	const struct tablekeeper *k = arg;
	struct pollfd p = { .fd = k->until, .events = POLLIN };

	return interrupt_came() || (k->until >= 0 && poll(&p, 1, 0) > 0);
}

/* Do what is waiting. */
static bool serve(struct tablekeeper *k)
{
	struct ow_error err;

	if (ow_kunwind_serve_until(k->dev, &k->tally, say, must_end, k, &err) >=
	    0)
		return true;
	complain("%s", err.msg);
	return false;
}

/* A process that could not be followed for its locks is tried again, but seldom. */
static void note_busy(struct tablekeeper *k)
{
	if (!k->all || k->behind)
		return;
	k->behind = true;
	k->pause = k->pause ? 2 * k->pause : LOOK_EVERY;
	if (k->pause > LOOK_SELDOM)
		k->pause = LOOK_SELDOM;
}

/* As ow_kunwind_follow_only(); any user can have any number of processes wait. */
static int follow_patiently(struct tablekeeper *k, pid_t pid, bool must,
			    struct ow_error *err)
{
	unsigned int flags = k->all ? 0 : OW_KUNWIND_INHERIT;
	uint64_t begun = clock_ns(CLOCK_MONOTONIC), took;
	int failed;

	if (!must && k->waited > WAIT_AT_MOST)
		flags |= OW_KUNWIND_NOWAIT;
	failed = ow_kunwind_follow_only(k->dev, pid, flags, err);
	took = clock_ns(CLOCK_MONOTONIC) - begun;
	if (failed && took > WAIT_A_MOMENT)
		k->waited += took;
	if (failed == -OW_CODE_TIMEOUT)
		note_busy(k);
	return failed;
}

static bool follow(struct tablekeeper *k, pid_t pid, bool must)
{
	struct ow_error err;

	if (follow_patiently(k, pid, must, &err)) {
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

	while (proc && !must_end(k) && (e = readdir(proc)))
		if (parse_number(e->d_name, 1, INT_MAX, &pid))
			follow(k, (pid_t)pid, false);
	if (proc)
		closedir(proc);
	k->looked = clock_ns(CLOCK_MONOTONIC);
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
	uint64_t due = k->looked + k->pause, now = clock_ns(CLOCK_MONOTONIC);

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
	if (!k->behind || clock_ns(CLOCK_MONOTONIC) < k->looked + k->pause)
		return;
	k->behind = false;
	follow_present(k);
}

/* Events were lost, or something could not be followed. */
static void note_lost(struct tablekeeper *k)
{
	if (k->all) {
		k->pause = LOOK_EVERY;
		k->behind = true;
	} else if (!k->told) {
		complain(
			"some that were forked or executed may not be "
			"followed: too much at once, or for the module's limits");
	}
	k->told = true;
}

bool tablekeeper_wait(struct tablekeeper *k)
{
	struct pollfd p[] = { { .fd = k->dev, .events = POLLIN },
			      { .fd = k->until, .events = POLLIN } };
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
