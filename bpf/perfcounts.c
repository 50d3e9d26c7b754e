// SPDX-License-Identifier: BSD-2-Clause
#include "perfcounts.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "delegate.h"
#include "error.h"
#include "grow.h"
#include "imagekin.h"
#include "monotonic.h"
#include "perfring.h"
#include "perfthreads.h"

#define TRACEFS "/sys/kernel/tracing"

/* Linux, include/uapi/linux/mount.h, and system calls of 5.2. */
#define CMD_CREATE   6
#define NR_FSOPEN    430
#define NR_FSCONFIG  431
#define NR_FSMOUNT   432
#define CLOSE_ONEXEC 1

#define MOST_FDS     1024 /* events of all processes, */
#define MOST_THREADS 64   /* and of one */
#define MOST_KIN     64   /* that share a memory */

#define LISTS     8 /* of its threads, until there is no new one */
#define SETTLED   2 /* lists without a new one: what ends may cut one short */
#define CALL_NS   100000000      /* for the kernel to answer about a thread */
#define AGAIN_NS  1000000000ULL  /* until a process is tried again, */
#define SILENT_NS 60000000000ULL /* or one for which it did not answer */
#define KEEP_NS   10000000000ULL /* so long, after calls were lost */
#define READ_NS   50000000       /* between two readings of counts */

#define YOUNG_NS   100000000  /* a process that ends sooner isn't counted */
#define REST_PART  15         /* times as long as to begin, nothing is begun, */
#define AT_ONCE_NS 1500000000 /* but for so much of that */

struct ow_perfcount {
	struct ow_image_calls *calls;
	uint64_t count; /* as it was read last */
	int *fds;
	size_t nr;
};

/* A file system's root that is mounted nowhere; or -1. */
static int mount_own(void)
{
	_cleanup_(ow_closep) int fs =
		(int)syscall(NR_FSOPEN, "tracefs", CLOSE_ONEXEC);

	if (fs < 0 || syscall(NR_FSCONFIG, fs, CMD_CREATE, NULL, NULL, 0))
		return -1;
	return (int)syscall(NR_FSMOUNT, fs, CLOSE_ONEXEC, 0);
}

static uint64_t read_id(int root, const char *name)
{
	_cleanup_(ow_closep) int fd = -1;
	char path[128], text[32];
	ssize_t size;

	snprintf(path, sizeof(path), "events/%s/id", name);
	fd = openat(root, path, O_RDONLY | O_CLOEXEC);
	size = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
	if (size <= 0)
		return 0;
	text[size] = '\0';
	return strtoull(text, NULL, 10);
}

/*
 * The number of a tracepoint, by which perf events know it; 0 if it can't be found.
 * Where no tracefs is mounted at its place, one is that nobody else sees.
 */
static uint64_t tracepoint_id(const char *name)
{
	_cleanup_(ow_closep) int root =
		open(TRACEFS, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	_cleanup_(ow_closep) int own = -1;
	uint64_t id = root < 0 ? 0 : read_id(root, name);

	if (id)
		return id;
	own = mount_own();
	return own < 0 ? 0 : read_id(own, name);
}

uint64_t ow_perfcounts_find_event(struct perf_event_attr *attr)
{
	attr->type = PERF_TYPE_TRACEPOINT;
	attr->config = tracepoint_id("raw_syscalls/sys_enter");
	return attr->config;
}

/* Threads of a process whose calls are to be counted. */
struct opening {
	struct ow_perfcounts *counts;
	struct perf_event_attr attr;
	pid_t tids[MOST_THREADS]; /* that were tried, also where they had ended */
	size_t nr_tids;
	int fds[MOST_THREADS];
	size_t nr;
	struct ow_perfprocess process;
	bool is_done; /* they are counted */
};

static bool is_tried(const struct opening *o, pid_t tid)
{
	size_t i;

	for (i = 0; i < o->nr_tids; i++)
		if (o->tids[i] == tid)
			return true;
	return false;
}

/* Count the calls of a thread, and of all that it makes; it may have ended. */
static bool open_thread(struct opening *o, pid_t tid)
{
	int fd;

	if (o->nr_tids == MOST_THREADS || o->counts->nr_fds + o->nr >= MOST_FDS)
		return false;
	o->tids[o->nr_tids++] = tid;
	fd = ow_perfring_open_event(&o->attr, tid, -1, OW_PERFCOUNTS_FILTER);
	if (fd < 0)
		return errno == ESRCH;
	o->fds[o->nr++] = fd;
	return ioctl(fd, PERF_EVENT_IOC_ENABLE, 0) == 0;
}

/* Count the calls of threads that were not tried yet.  *is_new: there are some. */
static bool open_new(struct opening *o, struct ow_perfprocess *p, bool *is_new)
{
	struct ow_error err;
	size_t i;

	*is_new = false;
	if (ow_perfthreads_list(p, &err) || p->nr > MOST_THREADS)
		return false;
	for (i = 0; i < p->nr; i++) {
		if (is_tried(o, p->tids[i]))
			continue;
		*is_new = true;
		if (!open_thread(o, p->tids[i]))
			return false;
	}
	return true;
}

/*
 * Count the calls of all threads of a process.  One that was made before its maker's
 * calls were counted is in a later list.
 */
static void open_threads(void *arg)
{
	struct opening *o = arg;
	unsigned int i, settled = 0;
	bool ok = true, is_new;

	for (i = 0; ok && i < LISTS && settled < SETTLED; i++) {
		ok = open_new(o, &o->process, &is_new);
		settled = is_new ? 0 : settled + 1;
	}
	o->is_done = ok && settled == SETTLED && o->nr;
}

/* The kernel lets those wait who open an event while a process executes a program. */
static void have_opened(struct opening *o, struct ow_image_user *user)
{
	const struct ow_delegate_limits limits = {
		.call_ns = CALL_NS,
		.until_ns = UINT64_MAX,
		.kept = OW_DELEGATE_ALL_FILES,
	};
	enum ow_delegation end =
		ow_delegate_run(open_threads, o, &limits, NULL);

	if (end == OW_DELEGATION_GIVEN_UP || end == OW_DELEGATION_LOST)
		user->uncounted_until = ow_now_ns() + SILENT_NS;
	free(o->process.tids);
}

/* Keep the events that were opened, for a process. */
static bool keep(struct opening *o, struct ow_image_user *user)
{
	struct ow_perfcounts *c = o->counts;
	struct ow_image_calls *calls;
	int *fds;
	size_t i;

	if (!ow_grow(&c->list, &c->room, c->nr + 1, sizeof(*c->list)))
		return false;
	calls = calloc(1, sizeof(*calls));
	fds = calloc(o->nr, sizeof(*fds));
	if (!calls || !fds) {
		free(calls);
		free(fds);
		return false;
	}
	for (i = 0; i < o->nr; i++)
		fds[i] = o->fds[i];
	calls->nr_holders = 1;
	calls->since = calls->until = ow_now_ns();
	ow_imagekin_count(user, calls);
	c->list[c->nr++] = (struct ow_perfcount){ .calls = calls,
						  .fds = fds,
						  .nr = o->nr };
	c->nr_fds += o->nr;
	return true;
}

/*
 * An event counts also for what the thread makes from then on: threads, and processes
 * that may share the memory, until they execute a program (remove_on_exec: Linux 5.13).
 */
static void begin_attr(struct perf_event_attr *attr)
{
	*attr = (struct perf_event_attr){
		.size = sizeof(*attr),
		.disabled = 1,
		.inherit = 1,
		.remove_on_exec = 1,
	};
}

static bool open_all(struct ow_perfcounts *c, struct ow_image_user *user)
{
	struct opening o = { .counts = c, .process.pid = user->pid };

	begin_attr(&o.attr);
	if (!c->event)
		c->event = ow_perfcounts_find_event(&o.attr);
	o.attr.type = PERF_TYPE_TRACEPOINT;
	o.attr.config = c->event;
	if (c->event)
		have_opened(&o, user);
	if (o.is_done && keep(&o, user))
		return true;
	while (o.nr)
		close(o.fds[--o.nr]);
	return false;
}

/* Return true if calls were lost lately: some of them may have moved code. */
static bool is_needed(const struct ow_images *im, uint64_t now)
{
	return im->moves_lost_at && im->moves_lost_at + KEEP_NS > now;
}

static bool is_due(const struct ow_perfcounts *c,
		   const struct ow_image_user *user, uint64_t now)
{
	return !user->is_gone && !ow_imagekin_is_counted(user) &&
	       now > user->begun + YOUNG_NS && now >= user->uncounted_until &&
	       now + AT_ONCE_NS >= c->begun_until && c->nr_fds < MOST_FDS;
}

/* Count the calls of a process, unless they are counted, or couldn't be lately. */
static void count_user(struct ow_perfcounts *c, struct ow_image_user *user)
{
	uint64_t now = ow_now_ns();

	if (!is_due(c, user, now))
		return;
	if (!open_all(c, user) && user->uncounted_until < now + AGAIN_NS)
		user->uncounted_until = now + AGAIN_NS;
	if (c->begun_until < now)
		c->begun_until = now;
	c->begun_until += REST_PART * (ow_now_ns() - now);
}

void ow_perfcounts_note(struct ow_perfcounts *c, const struct ow_images *im,
			pid_t pid)
{
	struct ow_image_user *user, *kin;
	size_t nr = 0;

	if (!im->moves_lost_at || !is_needed(im, ow_now_ns()))
		return;
	user = ow_images_user(im, pid);
	if (!user || user->is_gone || !ow_imagekin_moved(user))
		return;
	kin = user;
	do {
		count_user(c, kin);
		kin = kin->next_kin;
	} while (kin && kin != user && ++nr < MOST_KIN);
}

/* Count no more: nothing is known of calls from now on. */
static void close_count(struct ow_perfcounts *c, struct ow_perfcount *count)
{
	count->calls->until = UINT64_MAX;
	ow_imagekin_leave_calls(count->calls);
	c->nr_fds -= count->nr;
	while (count->nr)
		close(count->fds[--count->nr]);
	free(count->fds);
}

/* The sum of what was counted; false if that can't be told. */
static bool read_count(const struct ow_perfcount *count, uint64_t *ret)
{
	uint64_t value;
	size_t i;

	*ret = 0;
	for (i = 0; i < count->nr; i++) {
		if (read(count->fds[i], &value, sizeof(value)) != sizeof(value))
			return false;
		*ret += value;
	}
	return true;
}

/* Return false if the calls are not to be counted any more. */
static bool look(struct ow_perfcount *count)
{
	uint64_t now;

	if (count->calls->nr_holders == 1 || !read_count(count, &now))
		return false;
	if (now != count->count)
		count->calls->until = ow_now_ns();
	count->count = now;
	return true;
}

void ow_perfcounts_read(struct ow_perfcounts *c, const struct ow_images *im,
			bool all)
{
	uint64_t now = ow_now_ns();
	size_t i, left = 0;

	if (!c->nr || (!all && now < c->read_at + READ_NS))
		return;
	for (i = 0; i < c->nr; i++)
		if (is_needed(im, now) && look(&c->list[i]))
			c->list[left++] = c->list[i];
		else
			close_count(c, &c->list[i]);
	c->nr = left;
	c->read_at = now;
}

void ow_perfcounts_deinit(struct ow_perfcounts *c)
{
	while (c->nr)
		close_count(c, &c->list[--c->nr]);
	free(c->list);
	*c = (struct ow_perfcounts){ 0 };
}
