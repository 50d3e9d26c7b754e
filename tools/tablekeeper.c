// SPDX-License-Identifier: BSD-2-Clause
#include "tablekeeper.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
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

#define EVENTS_A_LOOK 128 /* that are served, for each process */

/* A user's processes count as one user's, whichever of the user's ids they have. */
static void renew_subuids(const struct tablekeeper *k)
{
	struct ow_error err;

	if (ow_kunwind_add_subuids(k->dev, &err) && k->verbose)
		complain("%s", err.msg);
}

bool tablekeeper_open(struct tablekeeper *k)
{
	struct ow_error err;

	k->dev = ow_kunwind_open(&err);
	if (k->dev < 0)
		complain("%s", err.msg);
	else
		renew_subuids(k);
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

static bool has_to_end(const struct tablekeeper *k)
{
	struct pollfd p = { .fd = k->until, .events = POLLIN };

	return interrupt_came() || (k->until >= 0 && poll(&p, 1, 0) > 0);
}

static bool must_end(void *arg)
{
	struct tablekeeper *k = arg;

	if (k->may == 0)
		return true;
	k->may--;
	return has_to_end(k);
}

/*
 * All processes are to be looked at again: soon, where the reason is new, but ever more
 * seldom where it comes again each time.
 */
static void note_reason(struct tablekeeper_loss *l)
{
	if (l->waits)
		return;
	l->waits = true;
	if (clock_ns(CLOCK_MONOTONIC) - l->last > LOOK_SELDOM)
		l->pause = LOOK_EVERY;
	else if (l->pause < LOOK_SELDOM)
		l->pause *= 2;
}

/* The user's entry, or the one that was of use the longest time ago. */
static struct tablekeeper_loss *loss_of(struct tablekeeper *k, uint32_t uid)
{
	struct tablekeeper_loss *l, *oldest = k->losses;

	for (l = k->losses; l < k->losses + TABLEKEEPER_LOSSES; l++) {
		if (l->uid == uid && (l->waits || l->last || l->told))
			return l;
		if (l->waits < oldest->waits ||
		    (l->waits == oldest->waits && l->last < oldest->last))
			oldest = l;
	}
	*oldest = (struct tablekeeper_loss){ .uid = uid };
	return oldest;
}

/* Events were lost, or something could not be followed. */
static void note_lost(void *arg, uint32_t uid, uint64_t nr)
{
	struct tablekeeper *k = arg;
	struct tablekeeper_loss *l = loss_of(k, uid);

	note_reason(l);
	l->nr += nr;
	l->missed |= nr == 0;
}

static void note_refused(void *arg, uint32_t uid)
{
	struct tablekeeper_loss *l = loss_of(arg, uid);
	uint64_t now = clock_ns(CLOCK_MONOTONIC);

	if (l->told && now - l->told < LOOK_SELDOM)
		return;
	complain("user %" PRIu32 ": the module has no room for more tables of "
		 "what its processes map",
		 uid);
	l->told = now;
}

/* Do what is waiting, but not more events than so many. */
static bool serve(struct tablekeeper *k, unsigned int most)
{
	const struct ow_kunwind_server server = {
		.say = say,
		.lost = note_lost,
		.refused = note_refused,
		.must_end = must_end,
		.arg = k,
	};
	struct ow_error err;

	k->may = most;
	if (ow_kunwind_serve_by(k->dev, &k->tally, &server, &err) >= 0)
		return true;
	complain("%s", err.msg);
	return false;
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
	if (failed == -OW_CODE_TIMEOUT && k->all)
		note_reason(&k->busy);
	return failed;
}

/* Follow a process, and serve at most so many events. */
static bool follow(struct tablekeeper *k, pid_t pid, bool must,
		   unsigned int most)
{
	struct ow_error err;

	if (follow_patiently(k, pid, must, &err)) {
		if (must || k->verbose)
			complain("%s", err.msg);
		return false;
	}
	return serve(k, most);
}

bool tablekeeper_follow(struct tablekeeper *k, pid_t pid)
{
	return follow(k, pid, true, OW_KUNWIND_FILE_EVENTS);
}

/* Those that were there before; a kernel's thread can't be followed. */
static void follow_present(struct tablekeeper *k)
{
	DIR *proc = opendir("/proc");
	struct dirent *e;
	unsigned long pid;

	while (proc && !has_to_end(k) && (e = readdir(proc)))
		if (parse_number(e->d_name, 1, INT_MAX, &pid))
			follow(k, (pid_t)pid, false, EVENTS_A_LOOK);
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
	return serve(k, OW_KUNWIND_FILE_EVENTS);
}

/* The reason i; NULL after the last one. */
static struct tablekeeper_loss *reason(struct tablekeeper *k, size_t i)
{
	if (i == 0)
		return &k->busy;
	return i <= TABLEKEEPER_LOSSES ? &k->losses[i - 1] : NULL;
}

/* When all processes are to be looked at again; UINT64_MAX: not at all. */
static uint64_t next_look(struct tablekeeper *k)
{
	uint64_t due = UINT64_MAX;
	struct tablekeeper_loss *l;
	size_t i;

	for (i = 0; (l = reason(k, i)); i++)
		if (l->waits && l->last + l->pause < due)
			due = l->last + l->pause;
	return due < k->looked + LOOK_EVERY ? k->looked + LOOK_EVERY : due;
}

/* For how long poll() may wait, in ms; -1: for ever. */
static int patience(struct tablekeeper *k)
{
	uint64_t due = next_look(k), now = clock_ns(CLOCK_MONOTONIC);

	if (due == UINT64_MAX)
		return -1;
	return now < due ? (int)((due - now) / 1000000) + 1 : 0;
}

static void tell_loss(const struct tablekeeper *k,
		      const struct tablekeeper_loss *l)
{
	const char *then = k->all ? "; looking at all processes again" : "";
	char whose[40] = "several users";

	if (l->uid != OW_KUNWIND_NO_USER)
		snprintf(whose, sizeof(whose), "user %" PRIu32, l->uid);
	if (l->nr)
		complain("%s: too much at once: %" PRIu64
			 " events of processes are lost, which may lack "
			 "tables%s",
			 whose, l->nr, then);
	if (l->missed)
		complain("%s: some processes may not be followed: too much at "
			 "once, or for the module's limits%s",
			 whose, then);
}

/*
 * Make up for what went by: look at all processes again, but not so often that a
 * process which makes many events keeps this one busy.
 */
static void catch_up(struct tablekeeper *k)
{
	uint64_t now = clock_ns(CLOCK_MONOTONIC);
	struct tablekeeper_loss *l;
	size_t i;

	if (now < next_look(k))
		return;
	for (i = 0; (l = reason(k, i)); i++) {
		if (!l->waits)
			continue;
		if (l != &k->busy)
			tell_loss(k, l);
		l->waits = false;
		l->last = now;
		l->nr = 0;
		l->missed = false;
	}
	if (k->all)
		follow_present(k);
}

bool tablekeeper_wait(struct tablekeeper *k)
{
	struct pollfd p[] = { { .fd = k->dev, .events = POLLIN },
			      { .fd = k->until, .events = POLLIN } };

	if (poll(p, 2, patience(k)) < 0 && errno != EINTR) {
		complain("poll %s: %m", OW_KUNWIND_DEVICE);
		return false;
	}
	renew_subuids(k);
	if (!serve(k, OW_KUNWIND_FILE_EVENTS))
		return false;
	catch_up(k);
	return true;
}

bool tablekeeper_is_idle(const struct tablekeeper *k)
{
	return !k->all && k->tally.exited >= k->tally.followed;
}
