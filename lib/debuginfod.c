// SPDX-License-Identifier: BSD-2-Clause
#include "debuginfod.h"

#include <dlfcn.h>
#include <elfutils/debuginfod.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "error.h"
#include "leftout.h"
#include "monotonic.h"
#include "object.h"
#include "ownpath.h"

/*
 * What a client may take: waits in which less than PROGRESS_RATE bytes a second come,
 * all of its time, files that are asked for, and bytes that are written for these.
 */
#define MOST_WAIT_NS  20000000000
#define MOST_TIME_NS  300000000000
#define MOST_FILES    256
#define MOST_BYTES    (UINT64_C(4) << 30)
#define PROGRESS_RATE 65536

/*
 * What libdebuginfod takes from the environment: seconds for which a transfer may be slower
 * than 100 KB a second, and how often it is tried again.
 */
#define TIMEOUT "10"
#define RETRIES "0"

#define TELL_NS   200000000  /* between two reports of a transfer */
#define SHOW_NS   1000000000 /* of waits, before they are shown */
#define TICK_MS   100
#define NAP_NS    2000000
#define ENDING_NS 1500000000 /* for a transfer to end: it looks once a second */
#define KILLED_NS 200000000
#define ENDING_S  2 /* likewise, after our process has ended */

#define NAME "debuginfod"

struct request {
	size_t size;
	uint8_t build_id[OW_BUILD_ID_MAX];
};

struct report {
	bool is_end;    /* of a request */
	bool was_asked; /* of a server */
	int error;      /* 0, or an errno */
	uint64_t bytes; /* so far: a few, where nothing came */
	char path[PATH_MAX];
};

struct ow_debuginfod {
	pid_t pid; /* of the process that asks; 0: none */
	int socket;
	uint64_t waited_ns, took_ns;
	uint64_t files, bytes;
	bool is_full;
	void (*progress)(void *arg, uint64_t files, uint64_t bytes);
	void *progress_arg;
	bool is_shown;
};

/*
 * The process that asks.
 */

/* What it is asked, as libdebuginfod calls back. */
static struct {
	int socket;
	bool was_asked;
	uint64_t told_ns, bytes, written;
	struct rlimit limit; /* of what may be written */
	bool has_cache;      /* nobody else can put files there */
} asking;

static void tell(const struct report *r)
{
	send(asking.socket, r,
	     offsetof(struct report, path) + strlen(r->path) + 1, MSG_NOSIGNAL);
}

/*
 * a is the bytes that came, or how often this was called.  Return other than 0, which
 * ends the transfer, if our process has ended, or doesn't want it any more.
 */
static int tell_progress(debuginfod_client *client, long a, long b)
{
	struct pollfd ours = { .fd = asking.socket, .events = POLLIN };
	uint64_t now = ow_now_ns();

	(void)client;
	(void)b;
	asking.was_asked = true;
	asking.bytes = a > 0 ? (uint64_t)a : 0;
	if (now - asking.told_ns >= TELL_NS) {
		asking.told_ns = now;
		tell(&(struct report){ .bytes = asking.bytes });
	}
	return poll(&ours, 1, 0) != 0;
}

/* Functions of libdebuginfod. */
struct library {
	__typeof__(&debuginfod_begin) begin;
	__typeof__(&debuginfod_set_progressfn) set_progress;
	__typeof__(&debuginfod_find_debuginfo) find;
};

static debuginfod_client *load(struct library *l)
{
	void *lib = dlopen(DEBUGINFOD_SONAME, RTLD_NOW);
	debuginfod_client *client;

	if (!lib)
		return NULL;
	l->begin = dlsym(lib, "debuginfod_begin");
	l->set_progress = dlsym(lib, "debuginfod_set_progressfn");
	l->find = dlsym(lib, "debuginfod_find_debuginfo");
	if (!l->begin || !l->set_progress || !l->find)
		return NULL;
	client = l->begin();
	if (client)
		l->set_progress(client, tell_progress);
	return client;
}

/* Have no file of ours grow beyond so many bytes. */
static void limit_files(uint64_t bytes)
{
	const struct rlimit limit = { bytes, asking.limit.rlim_max };

	setrlimit(RLIMIT_FSIZE, &limit);
}

/*
 * Ask for a file.  What a server sends may be few bytes that unpack to many, so that it
 * is what is written that counts.
 */
static int find(const struct library *l, debuginfod_client *client,
		const struct request *q, char **path)
{
	struct stat st;
	int fd;

	limit_files(asking.limit.rlim_cur - asking.written);
	fd = l->find(client, q->build_id, (int)q->size, path);
	/* No file is larger than what was left. */
	if (fd >= 0 && asking.was_asked && fstat(fd, &st) == 0)
		asking.written += (uint64_t)st.st_size;
	return fd;
}

static void answer(const struct library *l, debuginfod_client *client,
		   const struct request *q)
{
	struct report r = {
		.is_end = true,
		.error = asking.has_cache ? ELIBACC : EPERM,
	};
	char *path = NULL;
	int fd;

	asking.was_asked = false;
	asking.bytes = 0;
	asking.told_ns = ow_now_ns();
	if (client) {
		fd = find(l, client, q, &path);
		r.error = fd < 0 ? -fd : 0;
		r.was_asked = asking.was_asked;
		r.bytes = asking.bytes;
		if (fd >= 0)
			close(fd);
	}
	if (path && strlen(path) < sizeof(r.path))
		strcpy(r.path, path);
	free(path);
	tell(&r);
}

/* A transfer ends at its next write: it looks at its progress once a second only. */
static void end_soon(int number)
{
	(void)number;
	limit_files(0);
	alarm(ENDING_S);
}

/*
 * A transfer is to end as libdebuginfod ends it, or its file stays in the cache for ever:
 * so what ends our process, as a terminal's SIGINT, doesn't end this one at once.
 */
static void take_signals(pid_t parent)
{
	static const int ignored[] = { SIGHUP, SIGINT, SIGQUIT, SIGPIPE,
				       SIGXFSZ };
	const struct sigaction soon = { .sa_handler = end_soon };
	sigset_t none;

	for (size_t i = 0; i < sizeof(ignored) / sizeof(ignored[0]); i++)
		signal(ignored[i], SIG_IGN);
	signal(SIGALRM, SIG_DFL);
	sigaction(SIGTERM, &soon, NULL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	if (prctl(PR_SET_PDEATHSIG, SIGTERM) || getppid() != parent)
		_exit(1);
}

/* Nobody is to wait for the end of a pipe that it has; libdebuginfod may use stderr. */
static void drop_files(int socket)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	if (null >= 0) {
		dup2(null, STDIN_FILENO);
		dup2(null, STDOUT_FILENO);
	}
	if (socket > STDERR_FILENO + 1)
		close_range(STDERR_FILENO + 1, (unsigned int)socket - 1, 0);
	close_range((unsigned int)socket + 1, UINT_MAX, 0);
}

/*
 * Have libdebuginfod keep files where no other user decides what is there: sudo may leave
 * $HOME as it was, and a debug file that a user puts there would name others' functions.
 * Return false if there is no such folder.
 */
static bool set_cache(void)
{
	const char *name = getenv(DEBUGINFOD_CACHE_PATH_ENV_VAR);
	char base[PATH_MAX] = "", path[PATH_MAX];
	_cleanup_(ow_closep) int fd = -1;

	if (!name || !*name) {
		name = "debuginfod_client";
		if (!ow_ownpath_caches(base, sizeof(base)))
			return false;
	} else if (*name != '/' && !getcwd(base, sizeof(base))) {
		return false;
	}
	if ((size_t)snprintf(path, sizeof(path), "%s%s%s", base,
			     *name == '/' ? "" : "/", name) >= sizeof(path))
		return false;
	fd = ow_ownpath_open(path, true);
	return fd >= 0 && !setenv(DEBUGINFOD_CACHE_PATH_ENV_VAR, path, 1);
}

static _Noreturn void serve(int socket, pid_t parent)
{
	struct library library = { 0 };
	debuginfod_client *client;
	struct request q;

	asking.socket = socket;
	getrlimit(RLIMIT_FSIZE, &asking.limit);
	if (asking.limit.rlim_cur > MOST_BYTES)
		asking.limit.rlim_cur = MOST_BYTES;
	take_signals(parent);
	drop_files(socket);
	setenv(DEBUGINFOD_TIMEOUT_ENV_VAR, TIMEOUT, 0);
	setenv(DEBUGINFOD_RETRY_LIMIT_ENV_VAR, RETRIES, 0);
	asking.has_cache = set_cache();
	client = asking.has_cache ? load(&library) : NULL;
	while (recv(socket, &q, sizeof(q), 0) == sizeof(q))
		answer(&library, client, &q);
	_exit(0);
}

/*
 * The process that has it ask.
 */

static bool start(struct ow_debuginfod *d)
{
	pid_t self = getpid();
	int ends[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends))
		return false;
	d->pid = fork();
	if (d->pid == 0)
		serve(ends[1], self);
	close(ends[1]);
	if (d->pid > 0) {
		d->socket = ends[0];
		return true;
	}
	d->pid = 0;
	close(ends[0]);
	return false;
}

/* Return true if the process has ended within a time. */
static bool has_ended(pid_t pid, uint64_t ns)
{
	const struct timespec nap = { 0, NAP_NS };
	uint64_t begun = ow_now_ns();

	do {
		if (waitpid(pid, NULL, WNOHANG) != 0)
			return true;
		clock_nanosleep(CLOCK_MONOTONIC, 0, &nap, NULL);
	} while (ow_now_ns() - begun < ns);
	return false;
}

static void stop(struct ow_debuginfod *d)
{
	const struct rlimit none = { 0, 0 };

	if (!d->pid)
		return;
	close(d->socket);
	/* Its next write fails, which ends a transfer. */
	prlimit(d->pid, RLIMIT_FSIZE, &none, NULL);
	if (!has_ended(d->pid, ENDING_NS)) {
		kill(d->pid, SIGKILL);
		has_ended(d->pid, KILLED_NS);
	}
	d->pid = 0;
}

/* Why no server is asked any more, if a wait has taken so long so far; or NULL. */
static const char *why_spent(const struct ow_debuginfod *d, uint64_t ns)
{
	if (d->waited_ns + ns > MOST_WAIT_NS)
		return "debug files that its servers had not sent after 20 s "
		       "of waits";
	if (d->took_ns + ns > MOST_TIME_NS)
		return "debug files that were not there after 300 s";
	if (d->files >= MOST_FILES)
		return "debug files after the first 256";
	if (d->is_full)
		return "debug files, as there is no room for those that come";
	return NULL;
}

/* Count a time in which so many bytes came. */
static void count(struct ow_debuginfod *d, uint64_t ns, uint64_t bytes)
{
	uint64_t earned =
		bytes > UINT32_MAX ? ns : bytes * 1000000000 / PROGRESS_RATE;

	d->took_ns += ns;
	d->waited_ns += ns > earned ? ns - earned : 0;
}

static void show(struct ow_debuginfod *d, uint64_t ns, uint64_t bytes)
{
	if (!d->progress || d->took_ns + ns < SHOW_NS)
		return;
	d->is_shown = true;
	d->progress(d->progress_arg, d->files + 1, d->bytes + bytes);
}

/* The next report is there, or none within a tick; false if none will come. */
static bool take_report(struct ow_debuginfod *d, struct report *r,
			bool *is_there)
{
	struct pollfd its = { .fd = d->socket, .events = POLLIN };
	ssize_t n;

	*is_there = false;
	if (poll(&its, 1, TICK_MS) <= 0)
		return true;
	n = recv(d->socket, r, sizeof(*r), MSG_DONTWAIT);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return true;
	*is_there = n > (ssize_t)offsetof(struct report, path);
	r->path[sizeof(r->path) - 1] = '\0';
	return *is_there;
}

/* Wait for the end of a request.  Return false if it is given up on: its process is. */
static bool await(struct ow_debuginfod *d, struct report *r)
{
	uint64_t last = ow_now_ns(), bytes = 0, now, more;
	bool is_there;

	for (;;) {
		if (!take_report(d, r, &is_there)) {
			r->error = EPIPE;
			count(d, ow_now_ns() - last, 0);
			return false;
		}
		now = ow_now_ns();
		if (is_there) {
			more = r->bytes > bytes ? r->bytes - bytes : 0;
			count(d, now - last, more);
			bytes += more;
			last = now;
		}
		if (is_there && r->is_end)
			break;
		if (why_spent(d, now - last)) {
			count(d, now - last, 0);
			r->error = ETIME;
			return false;
		}
		show(d, now - last, bytes);
	}
	d->bytes += bytes;
	return true;
}

static bool ask(struct ow_debuginfod *d, const uint8_t *build_id, size_t size,
		struct report *r)
{
	struct request q = { .size = size };

	memcpy(q.build_id, build_id, size);
	if (!d->pid && !start(d)) {
		r->error = errno;
		return false;
	}
	if (send(d->socket, &q, sizeof(q), MSG_NOSIGNAL) == sizeof(q) &&
	    await(d, r)) {
		d->files += r->was_asked;
		d->is_full = r->error ==
			     EIO; /* as it says when it can't write */
		return true;
	}
	d->files++;
	stop(d);
	return false;
}

/* What the servers don't have is not worth a line. */
static void say_why(const struct ow_debuginfod *d, const char *of, int error)
{
	const char *spent = why_spent(d, 0);
	char text[128];

	if (error == ENOENT)
		return;
	if ((error == ETIME || d->is_full) && spent) {
		ow_leave_out(NAME, spent);
	} else if (error == ETIME) {
		ow_leave_out(of, "its debug file, which debuginfod's servers "
				 "did not send in time");
	} else if (error == ENOSYS) {
		ow_leave_out(NAME, "debug files, as DEBUGINFOD_URLS names no "
				   "server");
	} else if (error == EPERM) {
		ow_leave_out(NAME,
			     "debug files, as other users could put some into "
			     "its cache: set DEBUGINFOD_CACHE_PATH");
	} else {
		snprintf(text, sizeof(text), "debug files (%s)",
			 strerror(error));
		ow_leave_out(NAME, text);
	}
}

char *ow_debuginfod_find(struct ow_debuginfod *d, const char *of,
			 const uint8_t *build_id, size_t size)
{
	struct report r = { .error = ETIME };
	bool is_well;

	if (size == 0 || size > OW_BUILD_ID_MAX)
		return NULL;
	is_well = !why_spent(d, 0) && ask(d, build_id, size, &r) && !r.error;
	if (d->is_shown)
		d->progress(d->progress_arg, 0, d->bytes);
	d->is_shown = false;
	if (is_well && r.path[0])
		return strdup(r.path);
	say_why(d, of, r.error);
	return NULL;
}

struct ow_debuginfod *ow_debuginfod_create(void)
{
	return calloc(1, sizeof(struct ow_debuginfod));
}

void ow_debuginfod_set_progress(struct ow_debuginfod *d,
				void (*progress)(void *arg, uint64_t files,
						 uint64_t bytes),
				void *arg)
{
	d->progress = progress;
	d->progress_arg = arg;
}

void ow_debuginfod_destroy(struct ow_debuginfod *d)
{
	if (!d)
		return;
	stop(d);
	free(d);
}
