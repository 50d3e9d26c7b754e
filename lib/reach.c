// SPDX-License-Identifier: BSD-2-Clause
#include "reach.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include "env.h"
#include "error.h"
#include "leftout.h"
#include "monotonic.h"
#include "userefforts.h"

#define CALL_NS  2000000000
#define WHOLE_NS 20000000000
#define FIRST    4096       /* bytes of room for a text */
#define TEXT_NS  2000000000 /* of CPU, that to make one may take */
#define DELAYS   "/proc/thread-self/schedstat"

/* A status of 65,536 groups, and the CPU time in ns that a usual one takes. */
#define MOST_STATUS ((size_t)1 << 20)
#define STATUS_NS   200000

/*
 * What may be lost to waits for what never answers, at once and as a part of the
 * run's time, and how long a call may wait after that.
 */
#define LOST_NS   6000000000
#define LOST_PART 50
#define SPENT_NS  200000000

/*
 * What all waits may take, likewise, of which most are for what answers slowly, and
 * how long work may take after that.  Of work that takes less than a moment, all
 * counts.
 */
#define SLOW_NS   20000000000
#define LAST_NS   2000000000
#define MOMENT_NS 1000000

static atomic_uint_least64_t lost_ns, slow_ns, begun_ns;

/* ns of CPU beyond that, of all statuses of a user's processes that a run reads. */
static struct ow_userefforts statuses = OW_USEREFFORTS(1000000000, 20000000);

int ow_reach_openat(int dir, const char *path, int flags)
{
	int fd;

	ow_delegate_enter();
	fd = openat(dir, path, flags | O_CLOEXEC | O_NOCTTY);
	ow_delegate_leave();
	return fd;
}

int ow_reach_open(const char *path, int flags)
{
	return ow_reach_openat(AT_FDCWD, path, flags);
}

ssize_t ow_reach_read(int fd, void *buf, size_t size)
{
	ssize_t n;

	ow_delegate_enter();
	n = read(fd, buf, size);
	ow_delegate_leave();
	return n;
}

ssize_t ow_reach_fill(int fd, void *buf, size_t size)
{
	size_t used = 0;
	ssize_t n = 1;

	while (used < size && n > 0) {
		n = ow_reach_read(fd, (uint8_t *)buf + used, size - used);
		used += n > 0 ? (size_t)n : 0;
	}
	return n < 0 ? -1 : (ssize_t)used;
}

void ow_reach_closep(const int *fd)
{
	int before = errno;

	if (*fd < 0)
		return;
	ow_delegate_enter();
	close(*fd);
	ow_delegate_leave();
	errno = before;
}

ssize_t ow_reach_pread(int fd, void *buf, size_t size, off_t off)
{
	ssize_t n;

	ow_delegate_enter();
	n = pread(fd, buf, size, off);
	ow_delegate_leave();
	return n;
}

int ow_reach_stat(int fd, struct stat *ret)
{
	int failed;

	ow_delegate_enter();
	failed = fstat(fd, ret);
	ow_delegate_leave();
	return failed;
}

/* What waits may have taken so far beyond what they may from the run's begin on. */
static uint64_t allowance(void)
{
	uint64_t begun = atomic_load(&begun_ns);

	return begun ? (ow_now_ns() - begun) / LOST_PART : 0;
}

bool ow_reach_is_spent(void)
{
	uint64_t more = allowance();

	return atomic_load(&lost_ns) > LOST_NS + more ||
	       atomic_load(&slow_ns) > SLOW_NS + more;
}

/* How long work that begins now may take. */
static uint64_t whole_limit(void)
{
	uint64_t most = SLOW_NS + allowance(), slow = atomic_load(&slow_ns);
	uint64_t left = most > slow ? most - slow : 0;

	return left < LAST_NS ? LAST_NS : left < WHOLE_NS ? left : WHOLE_NS;
}

/* Work that a delegate does, and what it knows of that when it has done it. */
struct timed {
	void (*work)(void *arg);
	void *arg;
	uint64_t waited_ns; /* and did not run */
};

/* How long the calling thread has run, and has waited for a CPU. */
static uint64_t own_time(void)
{
	_cleanup_(ow_closep) int fd = open(DELAYS, O_RDONLY | O_CLOEXEC);
	unsigned long long delay = 0;
	char text[64];
	ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);

	text[n > 0 ? n : 0] = '\0';
	sscanf(text, "%*u %llu", &delay);
	return ow_cpu_ns() + delay;
}

/* A delegate has neither run nor waited for a CPU before. */
static void take_time(void *arg)
{
	struct timed *t = arg;
	uint64_t begun = ow_now_ns(), took, own = 0;
	int before;

	t->work(t->arg);
	before = errno;
	took = ow_now_ns() - begun;
	if (took > MOMENT_NS)
		own = own_time();
	t->waited_ns = took > own ? took - own : 0;
	errno = before;
}

static enum ow_delegation reach(void (*work)(void *arg), void *arg, int kept)
{
	uint64_t now = ow_now_ns(), none = 0;
	struct timed timed = { .work = work, .arg = arg };
	const struct ow_delegate_limits limits = {
		.call_ns = ow_reach_is_spent() ? SPENT_NS : CALL_NS,
		.until_ns = now + whole_limit(),
		.kept = kept,
	};
	enum ow_delegation end;

	if (ow_delegate_is_one()) {
		work(arg);
		return OW_DELEGATION_DONE;
	}
	atomic_compare_exchange_strong(&begun_ns, &none, now);
	end = ow_delegate_run(take_time, &timed, &limits, NULL);
	if (end == OW_DELEGATION_GIVEN_UP || end == OW_DELEGATION_LOST) {
		timed.waited_ns = ow_now_ns() - now;
		atomic_fetch_add(&lost_ns, timed.waited_ns);
	}
	atomic_fetch_add(&slow_ns, timed.waited_ns);
	return end;
}

enum ow_delegation ow_reach(void (*work)(void *arg), void *arg)
{
	return reach(work, arg, 0);
}

enum ow_delegation ow_reach_by(int fd, void (*work)(void *arg), void *arg)
{
	return reach(work, arg, fd);
}

void ow_reach_leave_out(const char *path, enum ow_delegation end)
{
	struct ow_error none;

	if (end != OW_DELEGATION_NONE) {
		ow_leave_out(path, "what serves it did not answer in time");
		return;
	}
	ow_delegate_fail(&none);
	ow_leave_out(path, none.msg);
}

/* An open that a delegate does, and a socket that the file comes through. */
struct opening {
	int (*open_it)(void *arg);
	void *arg;
	int ends[2];
	int error;
};

/* Room for an fd in a message (unix(7)). */
union passed {
	struct cmsghdr head;
	char room[CMSG_SPACE(sizeof(int))];
};

static bool pass(int to, int fd)
{
	union passed control = { 0 };
	char byte = 0;
	struct iovec part = { &byte, 1 };
	struct msghdr msg = {
		.msg_iov = &part,
		.msg_iovlen = 1,
		.msg_control = &control,
		.msg_controllen = sizeof(control),
	};

	control.head.cmsg_level = SOL_SOCKET;
	control.head.cmsg_type = SCM_RIGHTS;
	control.head.cmsg_len = CMSG_LEN(sizeof(fd));
	memcpy(CMSG_DATA(&control.head), &fd, sizeof(fd));
	return sendmsg(to, &msg, MSG_DONTWAIT | MSG_NOSIGNAL) == 1;
}

static int take_passed(int from)
{
	union passed control = { 0 };
	char byte;
	struct iovec part = { &byte, 1 };
	struct msghdr msg = {
		.msg_iov = &part,
		.msg_iovlen = 1,
		.msg_control = &control,
		.msg_controllen = sizeof(control),
	};
	int fd;

	if (recvmsg(from, &msg, MSG_DONTWAIT | MSG_CMSG_CLOEXEC) != 1)
		return -1;
	if (msg.msg_controllen < CMSG_LEN(sizeof(fd))) {
		errno = EMFILE;
		return -1;
	}
	memcpy(&fd, CMSG_DATA(&control.head), sizeof(fd));
	return fd;
}

static void open_and_pass(void *arg)
{
	struct opening *o = arg;
	_cleanup_(ow_reach_closep) int fd = -1;

	errno = 0;
	fd = o->open_it(o->arg);
	if (fd < 0 || !pass(o->ends[1], fd))
		o->error = errno ? errno : EINVAL;
}

static struct opening *start_opening(int (*open_it)(void *arg), void *arg)
{
	struct opening *o = malloc(sizeof(*o));

	if (!o)
		return NULL;
	*o = (struct opening){ .open_it = open_it, .arg = arg };
	if (!socketpair(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0, o->ends))
		return o;
	free(o);
	return NULL;
}

int ow_reach_fd(int (*open_it)(void *arg), void *arg)
{
	enum ow_delegation how;
	struct opening *o;
	int fd = -1, error;

	if (ow_delegate_is_one())
		return open_it(arg);
	o = start_opening(open_it, arg);
	if (!o && (errno == ENOSYS || errno == EAFNOSUPPORT))
		return open_it(arg); /* a kernel without sockets */
	if (!o)
		return -1;
	how = reach(open_and_pass, o, o->ends[1]);
	error = how == OW_DELEGATION_DONE ? o->error :
		how == OW_DELEGATION_NONE ? errno :
					    ETIMEDOUT;
	if (!error) {
		fd = take_passed(o->ends[0]);
		error = errno;
	}
	close(o->ends[0]);
	close(o->ends[1]);
	if (how != OW_DELEGATION_LOST)
		free(o);
	errno = error;
	return fd;
}

/* What is asked of a delegate that may be lost with it. */
struct asked {
	size_t most;
	char *text;
	ssize_t size; /* -1: error */
	int error;
	char path[];
};

static struct asked *ask(const char *path, size_t most)
{
	struct asked *a = malloc(sizeof(*a) + strlen(path) + 1);

	if (!a)
		return NULL;
	*a = (struct asked){ .most = most, .size = -1 };
	strcpy(a->path, path);
	return a;
}

/* Return the text, or NULL and errno; nothing else of it stays. */
static char *answer(struct asked *a, enum ow_delegation how, ssize_t *size_ret)
{
	char *text = NULL;
	int error = how == OW_DELEGATION_NONE ? errno : ETIMEDOUT;

	*size_ret = -1;
	if (how == OW_DELEGATION_DONE && a->size >= 0) {
		text = a->text;
		a->text = NULL;
		*size_ret = a->size;
		error = errno;
	} else if (how == OW_DELEGATION_DONE) {
		error = a->error;
	}
	if (how != OW_DELEGATION_LOST) {
		free(a->text);
		free(a);
	}
	errno = error;
	return text;
}

static bool make_room(struct asked *a, size_t *room)
{
	size_t more = *room ? 2 * *room : FIRST;
	char *text;

	if (more > a->most)
		more = a->most;
	text = realloc(a->text, more + 1);
	if (!text)
		return false;
	a->text = text;
	*room = more;
	return true;
}

static void read_open(struct asked *a, int fd)
{
	size_t room = 0, size = 0;
	uint64_t begun = ow_cpu_ns();
	ssize_t n = 1;

	while (n > 0) {
		if (ow_cpu_ns() - begun > TEXT_NS) {
			errno = ETIME;
			n = -1;
			break;
		}
		if (size == room && (room == a->most || !make_room(a, &room)))
			break;
		n = ow_reach_read(fd, a->text + size, room - size);
		size += n > 0 ? (size_t)n : 0;
	}
	a->error = errno;
	if (n < 0 || !a->text)
		return;
	a->text[size] = '\0';
	a->size = (ssize_t)size;
}

static void read_text(void *arg)
{
	_cleanup_(ow_reach_closep) int fd = -1;
	struct asked *a = arg;

	fd = ow_reach_open(a->path, O_RDONLY | O_NONBLOCK);
	a->error = errno;
	if (fd >= 0)
		read_open(a, fd);
}

char *ow_reach_text(const char *path, size_t most, size_t *size_ret)
{
	struct asked *a = ask(path, most);
	ssize_t size;
	char *text;

	if (!a)
		return NULL;
	text = answer(a, ow_reach(read_text, a), &size);
	if (text && size_ret)
		*size_ret = (size_t)size;
	return text;
}

/* It is its process's user's, or root's where the process may not be read. */
static void read_status(void *arg)
{
	_cleanup_(ow_reach_closep) int fd = -1;
	struct asked *a = arg;
	uint32_t share;
	uint64_t begun = ow_cpu_ns(), took;
	struct stat st;

	fd = ow_reach_open(a->path, O_RDONLY | O_NONBLOCK);
	a->error = errno;
	if (fd < 0)
		return;
	share = ow_owner_of(fstat(fd, &st) ? (uid_t)-1 : st.st_uid).share;
	a->error = ETIME;
	if (!ow_userefforts_left(&statuses, share))
		return;
	read_open(a, fd);
	took = ow_cpu_ns() - begun;
	if (took > STATUS_NS)
		ow_userefforts_spend(&statuses, share, took - STATUS_NS);
}

char *ow_reach_status(const char *path)
{
	struct asked *a = ask(path, MOST_STATUS);
	ssize_t size;

	return a ? answer(a, ow_reach(read_status, a), &size) : NULL;
}

static void read_link(void *arg)
{
	struct asked *a = arg;

	a->text = malloc(a->most);
	if (!a->text)
		return;
	ow_delegate_enter();
	a->size = readlink(a->path, a->text, a->most - 1);
	ow_delegate_leave();
	a->error = errno;
	if (a->size >= 0)
		a->text[a->size] = '\0';
}

ssize_t ow_reach_link(const char *path, char *to, size_t size)
{
	struct asked *a = size ? ask(path, size) : NULL;
	_cleanup_(ow_freep) char *text = NULL;
	ssize_t had;

	if (!a)
		return -1;
	text = answer(a, ow_reach(read_link, a), &had);
	if (text)
		memcpy(to, text, (size_t)had + 1);
	return had;
}
