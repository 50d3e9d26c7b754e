// SPDX-License-Identifier: BSD-2-Clause
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "delegate.h"
#include "error.h"
#include "kwobject.h"
#include "object.h"
#include "reach.h"

#define EVENTS_AT_ONCE 64
/* Bytes of a process's list: where nothing else tells, and after a look in vain. */
#define MOST_MAPS      ((size_t)64 << 20)
#define USUAL_MAPS     ((size_t)1 << 20)

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
	uint64_t at;

	snprintf(path, sizeof(path), "/proc/%d/maps", (int)pid);
	text = ow_reach_text(path, most, NULL);
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

static int supply(int dev, const struct ow_kunwind_event *what,
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
	return ow_kunwind_add(dev, fd, path, err);
}

/* Objects that were looked at a moment ago: one event for each mapping. */
static bool same_object(const struct ow_kunwind_event *a,
			const struct ow_kunwind_event *b)
{
	return (a->dev || a->ino) && a->ino == b->ino && a->dev == b->dev;
}

struct serving {
	int dev;
	struct ow_kunwind_tally *tally;
	void (*say)(void *arg, const char *line);
	bool (*must_end)(void *arg);
	void *arg;
};

static bool is_at_end(const struct serving *s)
{
	return ow_delegate_must_end() || (s->must_end && s->must_end(s->arg));
}

static void lacks(const struct serving *s, const struct ow_kunwind_event *what)
{
	struct ow_error err;

	if (supply(s->dev, what, &err) == 0) {
		s->tally->made++;
		return;
	}
	s->tally->failed++;
	if (s->say)
		s->say(s->arg, err.msg);
}

static void handle(const struct serving *s, const struct ow_kunwind_event *all,
		   size_t i)
{
	size_t k;

	switch (all[i].kind) {
	case OW_KUNWIND_EV_FOLLOWED: s->tally->followed++; return;
	case OW_KUNWIND_EV_EXIT: s->tally->exited++; return;
	case OW_KUNWIND_EV_LOST: s->tally->lost++; return;
	case OW_KUNWIND_EV_LACKS: break;
	default: return;
	}
	for (k = 0; k < i; k++)
		if (all[k].kind == OW_KUNWIND_EV_LACKS &&
		    same_object(&all[k], &all[i]))
			return;
	lacks(s, &all[i]);
}

int ow_kunwind_serve_until(int dev, struct ow_kunwind_tally *tally,
			   void (*say)(void *arg, const char *line),
			   bool (*must_end)(void *arg), void *arg,
			   struct ow_error *err)
{
	struct ow_kunwind_event events[EVENTS_AT_ONCE];
	struct ow_kunwind_tally mine = { 0 };
	const struct serving s = { dev, tally ? tally : &mine, say, must_end,
				   arg };
	size_t i, nr;
	ssize_t got;
	int done = 0;

	do {
		got = read(dev, events, sizeof(events));
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0 && errno == EAGAIN)
			return done;
		if (got <= 0)
			return ow_fail(err, OW_CODE_SYSTEM,
				       "read " OW_KUNWIND_DEVICE);
		nr = (size_t)got / sizeof(events[0]);
		for (i = 0; i < nr && !is_at_end(&s); i++)
			handle(&s, events, i);
		done += (int)nr;
	} while (done < OW_KUNWIND_FILE_EVENTS && !is_at_end(&s));
	return done;
}

int ow_kunwind_serve(int dev, struct ow_kunwind_tally *tally,
		     void (*say)(void *arg, const char *line), void *arg,
		     struct ow_error *err)
{
	return ow_kunwind_serve_until(dev, tally, say, NULL, arg, err);
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
