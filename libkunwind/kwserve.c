// SPDX-License-Identifier: BSD-2-Clause
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "delegate.h"
#include "error.h"
#include "kwobject.h"
#include "monotonic.h"
#include "object.h"
#include "procfs.h"
#include "reach.h"
#include "subuids.h"
#include "worktime.h"

#define LOOKS 64 /* at objects, that are remembered */
#define COSTLY \
	16 /* looks in vain that took long, which are remembered for long */
#define COSTLY_CPU   100000000ULL   /* ns of CPU time */
#define COSTLY_STEPS (1u << 20)     /* worktime.h */
#define COSTLY_FOR   60000000000ULL /* ns */
/* Bytes of a process's list: where nothing else tells, and after a look in vain. */
#define MOST_MAPS    ((size_t)64 << 20)
#define USUAL_MAPS   ((size_t)1 << 20)

int ow_kunwind_open(struct ow_error *err)
{
	struct ow_kunwind_info info;
	int dev = open(OW_KUNWIND_DEVICE, O_RDWR | O_CLOEXEC | O_NONBLOCK);

	if (dev < 0 && errno == EACCES) {
		ow_fail(err, OW_CODE_PERMISSION,
			"open " OW_KUNWIND_DEVICE
			": not permitted: it is root's, unless kunwind is "
			"loaded with unprivileged=1");
		return -1;
	}
	if (dev < 0 && errno == ENOENT) {
		ow_fail_kunwind(err, OW_CODE_ABSENT, "libkunwind", "");
		return -1;
	}
	if (dev < 0) {
		ow_fail(err, OW_CODE_SYSTEM, "open " OW_KUNWIND_DEVICE);
		return -1;
	}
	if (ioctl(dev, OW_KUNWIND_INFO, &info) == 0 &&
	    info.abi == OW_KUNWIND_ABI)
		return dev;
	ow_fail(err, OW_CODE_UNSUPPORTED,
		OW_KUNWIND_DEVICE ": not the version that is known here");
	close(dev);
	return -1;
}

/*
 * The path of what is mapped at start, below the process' own root, by the first bytes of
 * the process's list.
 */
static bool mapped_path(pid_t pid, uint64_t start, size_t most, char *ret,
			size_t size)
{
	_cleanup_(ow_freep) char *text = NULL;
	char path[32], *line, *end, *slash;
	bool found = false;
	size_t length = 0;
	uint64_t at;

	snprintf(path, sizeof(path), "/proc/%d/maps", (int)pid);
	text = ow_reach_text(path, most, &length);
	if (text)
		ow_worktime_step(length);
	for (line = text; line && !found && (end = strchr(line, '\n'));
	     line = end + 1) {
		*end = '\0';
		slash = strchr(line, '/');
		if (slash && sscanf(line, "%" SCNx64, &at) == 1 && at == start)
			found = (size_t)snprintf(ret, size, "/proc/%d/root%s",
						 (int)pid, slash) < size;
	}
	return found;
}

/* A process decides what the path leads to. */
static int open_path(void *path)
{
	return ow_open_regular(path);
}

/* Open the file that an event is about; the kernel sees that it is that. */
static int open_mapped(const struct ow_kunwind_event *what, char *path,
		       size_t size)
{
	size_t most;
	int fd;

	snprintf(path, size, "/proc/%d/map_files/%" PRIx64 "-%" PRIx64,
		 what->pid, (uint64_t)what->start, (uint64_t)what->end);
	fd = ow_reach_fd(open_path, path);
	if (fd >= 0)
		return fd;
	/*
	 * Not all may follow such a link.  Or the mapping is gone, or has another end by
	 * now, as loaders map a whole object first.
	 */
	most = errno == EPERM || errno == EACCES ? MOST_MAPS : USUAL_MAPS;
	if (!mapped_path(what->pid, what->start, most, path, size))
		return -1;
	return ow_reach_fd(open_path, path);
}

static int supply_once(int dev, const struct ow_kunwind_event *what,
		       struct ow_error *err)
{
	char path[PATH_MAX];
	_cleanup_(ow_closep) int fd = -1;

	if (what->ino == 0 && what->dev == 0)
		return ow_kunwind_add_vdso(dev, what->pid, what->start,
					   what->end - what->start, err);
	fd = open_mapped(what, path, sizeof(path));
	if (fd < 0)
		return ow_fail(err, OW_CODE_ABSENT, "open %s", path);
	return ow_kwobject_add(dev, fd, path, what, err);
}

/* A thread of a process that lives on without its first one; or 0. */
static pid_t other_thread(pid_t pid)
{
	struct ow_task first;

	if (!ow_task_read(pid, pid, &first) || first.state != 'Z')
		return 0;
	return ow_tasks_other(pid);
}

/* /proc/PID has neither memory nor files after the first thread's end. */
static int supply(int dev, const struct ow_kunwind_event *what,
		  struct ow_error *err)
{
	struct ow_kunwind_event other = *what;
	int failed = supply_once(dev, what, err);

	if (!failed)
		return 0;
	other.pid = other_thread(what->pid);
	return other.pid ? supply_once(dev, &other, err) : failed;
}

/* A look at an object, for a user's process. */
struct look {
	uint64_t dev, ino;
	uint32_t uid, privileged;
	uint64_t newest; /* the last event that there was before it */
};

/* A look in vain at an object, that took long, for a user's process. */
struct costly {
	uint64_t dev, ino;
	uint32_t uid, privileged;
	uint64_t until; /* it is left alone; CLOCK_MONOTONIC, in ns */
};

/* Of all sessions: what is looked at is the same for each. */
static struct costly costly[COSTLY];
static pthread_mutex_t costly_mutex = PTHREAD_MUTEX_INITIALIZER;

static bool is_of(const struct costly *c, const struct ow_kunwind_event *what)
{
	return c->ino == what->ino && c->dev == what->dev &&
	       c->uid == what->uid && c->privileged == what->privileged;
}

/* Return true if a look at the event's object took long, in vain, and not long ago. */
static bool was_costly(const struct ow_kunwind_event *what)
{
	uint64_t now = ow_now_ns();
	bool ret = false;
	size_t i;

	pthread_mutex_lock(&costly_mutex);
	for (i = 0; i < COSTLY; i++)
		ret |= is_of(&costly[i], what) && costly[i].until > now;
	pthread_mutex_unlock(&costly_mutex);
	return ret;
}

/* In the place of what is to be left alone for the shortest time. */
static void note_costly(const struct ow_kunwind_event *what)
{
	struct costly *c = costly;
	size_t i;

	/* Each process' vDSO is another one. */
	if (!what->dev && !what->ino)
		return;
	pthread_mutex_lock(&costly_mutex);
	for (i = 0; i < COSTLY; i++)
		if (costly[i].until < c->until)
			c = &costly[i];
	*c = (struct costly){ what->dev, what->ino, what->uid, what->privileged,
			      ow_now_ns() + COSTLY_FOR };
	pthread_mutex_unlock(&costly_mutex);
}

struct serving {
	int dev;
	struct ow_kunwind_tally *tally;
	const struct ow_kunwind_server *server;
	struct look looks[LOOKS];
	size_t nr_looks; /* all that there were */
};

static bool is_at_end(const struct serving *s)
{
	const struct ow_kunwind_server *server = s->server;

	return ow_delegate_must_end() ||
	       (server->must_end && server->must_end(server->arg));
}

/*
 * There is one event for each mapping.  Return true if the event is older than a look at
 * its object, for that user.  What a look came to for another user doesn't count: at the
 * addresses of the event that user's process may have had another file by then.
 */
static bool was_looked_at(const struct serving *s,
			  const struct ow_kunwind_event *what)
{
	const struct look *l = s->looks;
	size_t i;

	for (i = 0; i < s->nr_looks && i < LOOKS; i++, l++)
		if (l->ino == what->ino && l->dev == what->dev &&
		    what->nr <= l->newest && l->uid == what->uid &&
		    l->privileged == what->privileged)
			return true;
	return false;
}

/* Each process' vDSO is another one. */
static void note_look(struct serving *s, const struct ow_kunwind_event *what)
{
	if (!what->dev && !what->ino)
		return;
	s->looks[s->nr_looks++ % LOOKS] = (struct look){
		.dev = what->dev,
		.ino = what->ino,
		.uid = what->uid,
		.privileged = what->privileged,
		.newest = what->newest,
	};
}

/*
 * Return true if a look that failed took long by what the file is, or the process' list: a
 * slow machine may take long to find that a process has ended.
 */
static bool is_costly(uint64_t ns, uint64_t steps, const struct ow_error *err)
{
	return ns > COSTLY_CPU &&
	       (err->code != OW_CODE_ABSENT || steps > COSTLY_STEPS);
}

static void handle_lacks(struct serving *s, const struct ow_kunwind_event *what)
{
	const struct ow_worktime *mine = ow_worktime_mine();
	struct ow_error err = { .code = OW_CODE_OK };
	uint64_t begun, steps;
	bool well;

	if (was_looked_at(s, what) || was_costly(what))
		return;
	begun = ow_worktime_ns(mine);
	steps = ow_worktime_steps(mine);
	well = supply(s->dev, what, &err) == 0;
	/* Others of the user's processes may live that have mapped it. */
	if (well || err.code != OW_CODE_ABSENT)
		note_look(s, what);
	if (well) {
		s->tally->made++;
		return;
	}
	if (is_costly(ow_worktime_ns(mine) - begun,
		      ow_worktime_steps(mine) - steps, &err))
		note_costly(what);
	s->tally->failed++;
	if (err.os_errno == ENOSPC && s->server->refused)
		s->server->refused(s->server->arg, what->uid);
	if (s->server->say)
		s->server->say(s->server->arg, err.msg);
}

static void handle(struct serving *s, const struct ow_kunwind_event *what)
{
	switch (what->kind) {
	case OW_KUNWIND_EV_FOLLOWED: s->tally->followed++; return;
	case OW_KUNWIND_EV_EXIT: s->tally->exited++; return;
	case OW_KUNWIND_EV_LACKS: handle_lacks(s, what); return;
	case OW_KUNWIND_EV_LOST:
		s->tally->lost++;
		if (s->server->lost)
			s->server->lost(s->server->arg, what->uid, what->nr);
		return;
	default: return;
	}
}

/* One event a read: the module knows by that whose turn is next. */
int ow_kunwind_serve_by(int dev, struct ow_kunwind_tally *tally,
			const struct ow_kunwind_server *server,
			struct ow_error *err)
{
	struct ow_kunwind_tally mine = { 0 };
	struct serving s = {
		.dev = dev,
		.tally = tally ? tally : &mine,
		.server = server,
	};
	struct ow_kunwind_event what;
	ssize_t got;
	int done = 0;

	while (done < OW_KUNWIND_FILE_EVENTS && !is_at_end(&s)) {
		got = read(dev, &what, sizeof(what));
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0 && errno == EAGAIN)
			break;
		if (got != sizeof(what))
			return ow_fail(err, OW_CODE_SYSTEM,
				       "read " OW_KUNWIND_DEVICE);
		handle(&s, &what);
		done++;
	}
	return done;
}

_Static_assert(sizeof(struct ow_subuid_range) ==
			       sizeof(struct ow_kunwind_subuid) &&
		       offsetof(struct ow_subuid_range, last) ==
			       offsetof(struct ow_kunwind_subuid, last) &&
		       offsetof(struct ow_subuid_range, owner) ==
			       offsetof(struct ow_kunwind_subuid, owner),
	       "a list is laid out as the module takes it");
_Static_assert(OW_SUBUIDS_MOST <= OW_KUNWIND_MAX_SUBUIDS, "all have room");

static int hand_in_subuids(int dev, const struct ow_subuids *list)
{
	const struct ow_kunwind_subuids what = {
		.ranges = (uintptr_t)list->all,
		.nr = list->nr,
	};

	return ioctl(dev, OW_KUNWIND_SUBUIDS, &what);
}

int ow_kunwind_add_subuids(int dev, struct ow_error *err)
{
	static _Atomic(const struct ow_subuids *) handed_in;
	const struct ow_subuids *list;

	ow_subuids_renew(ow_now_ns());
	list = ow_subuids_list();
	if (list == atomic_exchange(&handed_in, list) ||
	    !hand_in_subuids(dev, list) || errno == ENOTTY)
		return 0;
	return ow_fail(err, OW_CODE_SYSTEM, "hand in subordinate ids");
}

int ow_kunwind_serve(int dev, struct ow_kunwind_tally *tally,
		     void (*say)(void *arg, const char *line), void *arg,
		     struct ow_error *err)
{
	const struct ow_kunwind_server server = { .say = say, .arg = arg };

	return ow_kunwind_serve_by(dev, tally, &server, err);
}

int ow_kunwind_follow_only(int dev, pid_t pid, unsigned int flags,
			   struct ow_error *err)
{
	struct ow_kunwind_follow f = { .pid = pid, .flags = flags };

	if (ioctl(dev, OW_KUNWIND_FOLLOW, &f) == 0)
		return 0;
	switch (errno) {
	case EPERM:
		return ow_fail(err, OW_CODE_PERMISSION,
			       "follow process %d: not permitted", (int)pid);
	case EUSERS:
		return ow_fail(err, OW_CODE_SYSTEM,
			       "follow process %d: %d sessions do already",
			       (int)pid, OW_KUNWIND_MAX_SESSIONS);
	case EBUSY:
		return ow_fail(err, OW_CODE_TIMEOUT,
			       "follow process %d: it holds its locks for long",
			       (int)pid);
	case ESRCH:
		return ow_fail(err, OW_CODE_ABSENT, "no process %d", (int)pid);
	default:
		return ow_fail(err, OW_CODE_SYSTEM, "follow process %d",
			       (int)pid);
	}
}

int ow_kunwind_follow(int dev, pid_t pid, unsigned int flags,
		      struct ow_error *err)
{
	int served = ow_kunwind_follow_only(dev, pid, flags, err);

	if (served)
		return served;
	served = ow_kunwind_serve(dev, NULL, NULL, NULL, err);
	return served < 0 ? served : 0;
}

int ow_kunwind_unwind(int dev, struct ow_frame *frames, unsigned int max,
		      unsigned int flags, enum ow_end *end,
		      struct ow_error *err)
{
	struct ow_kunwind_unwind u = {
		.frames = (uintptr_t)frames,
		.max = max,
		.flags = flags,
	};

	if (ioctl(dev, OW_KUNWIND_UNWIND, &u))
		return ow_fail(err, OW_CODE_SYSTEM, "unwind");
	*end = u.end;
	return (int)u.nr;
}
