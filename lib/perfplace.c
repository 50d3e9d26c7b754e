// SPDX-License-Identifier: BSD-2-Clause
#include "perfplace.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "error.h"
#include "identity.h"
#include "leftout.h"
#include "monotonic.h"
#include "object.h"
#include "processids.h"
#include "reach.h"
#include "userefforts.h"

static bool read_status(struct ow_perfplace *p)
{
	_cleanup_(ow_freep) char *text = NULL;
	const char *at;
	char path[64];
	unsigned int uid;

	snprintf(path, sizeof(path), "/proc/%d/status", p->pid);
	text = ow_reach_status(path);
	if (!text && errno == ETIME)
		ow_leave_out(path, "names of JITs' code, as statuses take too "
				   "long to read");
	at = text ? strstr(text, "\nUid:") : NULL;
	if (!at || sscanf(at, "\nUid: %*u %u", &uid) != 1)
		return false;
	p->uid = uid;
	p->inner = p->pid;
	at = strstr(text, "\nNSpid:");
	if (at)
		at = memrchr(at, '\t', strcspn(at + 1, "\n") + 1);
	if (at)
		p->inner = (pid_t)atoi(at);
	return true;
}

/* What /proc tells of the process. */
static bool read_owner(struct ow_perfplace *p)
{
	struct ow_processids ids;

	if (ow_processids_is_near(p->pid) && ow_processids_read(p->pid, &ids)) {
		p->uid = ids.effective;
		p->inner = p->pid;
		return true;
	}
	return read_status(p);
}

/*
 * ns of CPU that a run may take for a user to follow symbolic links in place of /tmp:
 * each of 40 may take the kernel as long as a whole path, for each process.  And to open
 * maps where that takes longer than it does: a hundred thousand mounts may lie there.
 */
static struct ow_userefforts links = OW_USEREFFORTS(1000000000, 20000000);
static struct ow_userefforts slow_opens = OW_USEREFFORTS(1000000000, 20000000);
#define OPEN_NS 200000

/*
 * Open what the process calls /tmp; of root, an fd of its root.  When following links has
 * taken too long, one that is a link isn't found.
 */
static int open_tmp(const struct ow_perfplace *p, int root, uint64_t resolve)
{
	uint32_t share = ow_owner_of(p->uid).share;
	const struct open_how how = {
		.flags = O_PATH | O_DIRECTORY | O_CLOEXEC,
		.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS | resolve |
			   (ow_userefforts_left(&links, share) ?
				    0 :
				    RESOLVE_NO_SYMLINKS),
	};
	uint64_t begun = ow_cpu_ns();
	int fd, before;

	ow_delegate_enter();
	fd = (int)syscall(SYS_openat2, root, "tmp", &how, sizeof(how));
	before = errno;
	ow_delegate_leave();
	ow_userefforts_spend(&links, share, ow_cpu_ns() - begun);
	errno = before;
	return fd;
}

/* The place is not asked any more. */
static void leave_tmp_out(struct ow_perfplace *p, const char *why)
{
	char path[64], what[160];

	p->is_silent = true;
	snprintf(path, sizeof(path), "/proc/%d/root/tmp", p->pid);
	snprintf(what, sizeof(what), "names of JITs' code, %s", why);
	ow_leave_out(path, what);
}

/*
 * The folder as it is found once the kernel has it in its cache, so that to close it
 * concerns no file system (RESOLVE_CACHED, Linux 5.12); or -1.
 */
static int take_tmp(struct ow_perfplace *p)
{
	_cleanup_(ow_reach_closep) int root = -1;
	_cleanup_(ow_reach_closep) int looked_up = -1;
	char path[64];
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/root", p->pid);
	root = ow_reach_open(path, O_PATH | O_DIRECTORY);
	if (root < 0)
		return -1;
	fd = open_tmp(p, root, RESOLVE_CACHED);
	if (fd >= 0)
		return fd;
	if (ow_reach_is_spent()) {
		leave_tmp_out(p, OW_REACH_SPENT);
		return -1;
	}
	looked_up = open_tmp(p, root, 0);
	return looked_up < 0 ? -1 : open_tmp(p, root, RESOLVE_CACHED);
}

/* A place that a delegate finds. */
struct finding {
	struct ow_perfplace *place;
	bool is_there, is_done;
};

/* Return its /tmp, or -1. */
static int find_place(void *arg)
{
	struct finding *f = arg;
	int fd;

	f->is_there = read_owner(f->place);
	fd = f->is_there ? take_tmp(f->place) : -1;
	f->is_done = true;
	return fd;
}

/* What serves its /tmp does not answer, or the kernel does not about the process. */
static void note_silent(struct ow_perfplace *p)
{
	char path[64];

	p->is_silent = true;
	snprintf(path, sizeof(path), "/proc/%d/root/tmp", p->pid);
	ow_reach_leave_out(path, errno == ETIMEDOUT ? OW_DELEGATION_GIVEN_UP :
						      OW_DELEGATION_NONE);
}

bool ow_perfplace_init(struct ow_perfplace *p, pid_t pid)
{
	struct finding f = { .place = p };

	*p = (struct ow_perfplace){
		.tmp = -1,
		.opener = getpid(),
		.pid = pid,
		.inner = pid,
		.uid = (uid_t)-1,
	};
	if (pid <= 0)
		return false;
	p->tmp = ow_reach_fd(find_place, &f);
	if (f.is_done)
		return f.is_there;
	note_silent(p);
	return true;
}

/* Others can make files and links in /tmp, too. */
static bool is_owned(int look, uid_t uid)
{
	struct stat st;

	return ow_reach_stat(look, &st) == 0 &&
	       (st.st_uid == uid || st.st_uid == 0);
}

/*
 * Open what was looked at.  In its own namespaces a process can mount any file on its
 * map, one that it may not open, too: to open a device or a FIFO of root's does
 * something, so that is looked at before.
 */
static int open_looked(int look, uid_t uid)
{
	return look >= 0 && is_owned(look, uid) ? ow_reopen_regular(look) : -1;
}

static int open_owned(const char *path, uid_t uid)
{
	_cleanup_(ow_reach_closep) int look =
		ow_reach_open(path, O_PATH | O_NOFOLLOW);

	return open_looked(look, uid);
}

/*
 * The same, if the kernel has the file system: its /tmp has to lie there, and the file
 * on the same device, as the process may have mounted another one's on it.
 */
static int open_near(const struct ow_perfplace *p, const char *path)
{
	_cleanup_(ow_reach_closep) int look =
		ow_reach_open(path, O_PATH | O_NOFOLLOW);
	struct ow_identity id;
	char self[32];

	snprintf(self, sizeof(self), "/proc/self/fd/%d", look);
	if (look < 0 || !ow_identity_look(self, &id) || id.dev != p->near ||
	    !S_ISREG(id.mode))
		return -1;
	return open_looked(look, p->uid);
}

/* The device of its /tmp, if no server has that, as far as our mounts tell; or 0. */
static uint64_t near_device(const struct ow_perfplace *p, const char *tmp)
{
	struct ow_identity id;

	if (p->tmp < 0 || !ow_identity_look(tmp, &id))
		return 0;
	return ow_identity_is_near(id.dev) ? id.dev : 0;
}

/* The map in its own /tmp, which has a name for people, too. */
static int open_own(struct ow_perfplace *p, const char *path)
{
	bool is_spent = ow_reach_is_spent();
	char tmp[48], at[80];

	/* What is open here is not open in a delegate. */
	snprintf(tmp, sizeof(tmp), "/proc/%d/fd/%d", p->opener, p->tmp);
	snprintf(at, sizeof(at), "%s/perf-%d.map", tmp, p->inner);
	if (is_spent && !p->near)
		p->near = near_device(p, tmp);
	if (is_spent && p->near)
		return open_near(p, at);
	if (!is_spent)
		return open_owned(p->tmp < 0 ? path : at, p->uid);
	leave_tmp_out(p, OW_REACH_SPENT);
	return -1;
}

/* A map that is found too slowly, too often, is not looked for any more. */
static int open_timed(struct ow_perfplace *p, const char *path)
{
	uint32_t share = ow_owner_of(p->uid).share;
	uint64_t begun = ow_cpu_ns(), took;
	int fd = open_own(p, path), before = errno;

	took = ow_cpu_ns() - begun;
	if (took > OPEN_NS) {
		ow_userefforts_spend(&slow_opens, share, took - OPEN_NS);
		if (!ow_userefforts_left(&slow_opens, share) && !p->is_silent)
			leave_tmp_out(p, "as it takes the kernel too long to "
					 "find them");
	}
	errno = before;
	return fd;
}

int ow_perfplace_open(struct ow_perfplace *p, char *path)
{
	int fd = -1;

	snprintf(path, OW_PERFPLACE_PATH, "/proc/%d/root/tmp/perf-%d.map",
		 p->pid, p->inner);
	if (!p->is_silent)
		fd = open_timed(p, path);
	if (fd >= 0)
		return fd;
	snprintf(path, OW_PERFPLACE_PATH, "/tmp/perf-%d.map", p->pid);
	return open_owned(path, p->uid);
}

void ow_perfplace_deinit(struct ow_perfplace *p)
{
	ow_closep(&p->tmp);
	p->tmp = -1;
}
