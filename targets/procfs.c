// SPDX-License-Identifier: BSD-2-Clause
#include "procfs.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/nsfs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "delegate.h"
#include "error.h"
#include "grow.h"
#include "processids.h"
#include "reach.h"
#include "silent.h"
#include "subuids.h"

/* Numbers of fields in stat (proc_pid_stat(5)). */
#define STAT_STATE      3
#define STAT_FLAGS      9
#define STAT_STARTTIME  22
#define STAT_STARTSTACK 28

#define MOST_STAT ((size_t)512)

#define MOST_USER_LEVELS 33 /* Linux, kernel/user_namespace.c */
#define MOST_USER_MAP    ((size_t)4096)

#define GET_USER_NAMESPACE _IO(0xff, 9) /* of a pidfd: Linux 6.11 */

#define FREEZER      "/sys/fs/cgroup/freezer"
#define MOST_CGROUPS ((size_t)1 << 16)
#define MOST_STATE   ((size_t)16)

static void closedirp(DIR **dir)
{
	if (*dir)
		closedir(*dir);
}

/* The folder that fd has open, from its begin, with an fd of its own. */
static DIR *open_again(int fd)
{
	int own = ow_reach_openat(fd, ".", O_RDONLY | O_DIRECTORY);
	DIR *dir = own < 0 ? NULL : fdopendir(own);

	if (!dir && own >= 0)
		close(own);
	return dir;
}

static struct dirent *next_entry(DIR *dir)
{
	struct dirent *entry;

	errno = 0;
	ow_delegate_enter();
	entry = readdir(dir);
	ow_delegate_leave();
	return entry;
}

int ow_tasks_open(pid_t pid, struct ow_error *err)
{
	char path[32];
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	fd = ow_reach_open(path, O_RDONLY | O_DIRECTORY);
	if (fd >= 0)
		return fd;
	if (errno == ENOENT)
		return ow_fail(err, OW_CODE_ABSENT, "no process %d", pid);
	return ow_fail(err, OW_CODE_SYSTEM, "open %s", path);
}

int ow_tasks_list(int dir, pid_t **ret, size_t *nr_ret, struct ow_error *err)
{
	_cleanup_(closedirp) DIR *tasks = open_again(dir);
	_cleanup_(ow_freep) pid_t *list = NULL;
	size_t nr = 0, room = 0;
	struct dirent *entry;
	pid_t tid;

	if (!tasks && (errno == ENOENT || errno == ESRCH))
		return ow_fail(err, OW_CODE_ABSENT, "process has exited");
	if (!tasks)
		return ow_fail(err, OW_CODE_SYSTEM, "list threads");
	while ((entry = next_entry(tasks))) {
		tid = atoi(entry->d_name);
		if (tid <= 0)
			continue;
		if (!ow_grow(&list, &room, nr + 1, sizeof(*list)))
			return ow_fail(err, OW_CODE_MEMORY, "out of memory");
		list[nr++] = tid;
	}
	/* The folder of a process that has exited has no entries. */
	if (errno && errno != ENOENT && errno != ESRCH)
		return ow_fail(err, OW_CODE_SYSTEM, "list threads");
	*ret = list;
	*nr_ret = nr;
	list = NULL;
	return 0;
}

size_t ow_tasks_count(int dir)
{
	struct stat st;

	return fstat(dir, &st) == 0 && st.st_nlink > 2 ? st.st_nlink - 2 : 0;
}

bool ow_tasks_has(int dir, pid_t tid)
{
	char name[16];
	int failed;

	snprintf(name, sizeof(name), "%d", tid);
	ow_delegate_enter();
	failed = faccessat(dir, name, F_OK, 0);
	ow_delegate_leave();
	return !failed;
}

pid_t ow_tasks_other(pid_t pid)
{
	_cleanup_(closedirp) DIR *tasks = NULL;
	_cleanup_(ow_closep) int fd = -1;
	struct dirent *entry;
	char path[32];
	pid_t tid = 0;

	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	fd = ow_reach_open(path, O_RDONLY | O_DIRECTORY);
	if (fd >= 0)
		tasks = open_again(fd);
	while (tasks && (entry = next_entry(tasks))) {
		tid = atoi(entry->d_name);
		if (tid > 0 && tid != pid)
			return tid;
	}
	return 0;
}

/*
 * The name in a thread's stat, and what stands after the name; NULL if the thread is
 * gone.  The name may hold parentheses of its own.  *text_ret is to be freed.
 */
static char *read_stat(pid_t pid, pid_t tid, char **text_ret, char **behind)
{
	char path[64], *text, *name;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/stat", pid, tid);
	text = *text_ret = ow_reach_text(path, MOST_STAT, NULL);
	if (!text)
		return NULL;
	name = strchr(text, '(');
	*behind = strrchr(text, ')');
	if (!name || !*behind || (*behind)[1] != ' ')
		return NULL;
	**behind = '\0';
	*behind += 2;
	return name + 1;
}

/* The field of that number, from what stands behind the name on; 0: none. */
static uint64_t stat_field(const char *field, int nr)
{
	int i;

	for (i = STAT_STATE; field && i < nr; i++) {
		field = strchr(field, ' ');
		if (field)
			field++;
	}
	return field ? strtoull(field, NULL, 10) : 0;
}

bool ow_task_read(pid_t pid, pid_t tid, struct ow_task *ret)
{
	_cleanup_(ow_freep) char *text = NULL;
	char *behind;
	const char *found = read_stat(pid, tid, &text, &behind);

	if (!found)
		return false;
	snprintf(ret->name, sizeof(ret->name), "%s", found);
	ret->state = *behind;
	ret->flags = (uint32_t)stat_field(behind, STAT_FLAGS);
	ret->stack_start = stat_field(behind, STAT_STARTSTACK);
	return true;
}

bool ow_task_stat(pid_t pid, pid_t tid, char *name, size_t size, char *state)
{
	struct ow_task task;

	if (!ow_task_read(pid, tid, &task))
		return false;
	snprintf(name, size, "%s", task.name);
	*state = task.state;
	return true;
}

bool ow_task_name(pid_t pid, pid_t tid, char *name, size_t size)
{
	_cleanup_(ow_freep) char *text = NULL;
	char path[64];
	size_t had;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/comm", pid, tid);
	text = ow_reach_text(path, MOST_STAT, &had);
	if (!text || !had)
		return false;
	text[had - 1] = '\0'; /* a newline */
	snprintf(name, size, "%s", text);
	return true;
}

int ow_task_fail_no_memory(pid_t pid, struct ow_error *err)
{
	struct ow_task task;

	if (!ow_task_read(pid, pid, &task))
		return ow_fail(err, OW_CODE_ABSENT, "no process %d", pid);
	if (task.flags & OW_TASK_KERNEL)
		return ow_fail(err, OW_CODE_UNSUPPORTED,
			       "process %d (%s) is a kernel thread, it has no "
			       "user stack",
			       pid, task.name);
	if (task.state == 'Z' || task.state == 'X')
		return ow_fail(err, OW_CODE_ABSENT,
			       "process %d (%s) has exited (zombie)", pid,
			       task.name);
	if (task.flags & OW_TASK_ENDS)
		return ow_fail(err, OW_CODE_ABSENT,
			       "process %d (%s) is ending, its memory is gone",
			       pid, task.name);
	return ow_fail(err, OW_CODE_ABSENT,
		       "process %d (%s) has no program in its memory", pid,
		       task.name);
}

/*
 * Workers of io_uring are threads of the process since Linux 5.12 (create_io_thread()),
 * those of vhost since 6.4.  Older kernels have PF_VCPU and PF_USED_ASYNC there.
 */
uint32_t ow_task_worker_flags(void)
{
	unsigned int major = 0, minor = 0, version;
	struct utsname host;

	if (uname(&host) || sscanf(host.release, "%u.%u", &major, &minor) != 2)
		return 0;
	version = major * 1000 + minor;
	return (version >= 5012 ? OW_TASK_IO_WORKER : 0) |
	       (version >= 6004 ? OW_TASK_USER_WORKER : 0);
}

uint64_t ow_process_start_ns(pid_t pid)
{
	_cleanup_(ow_freep) char *text = NULL;
	char *behind;

	if (!read_stat(pid, pid, &text, &behind))
		return 0;
	return stat_field(behind, STAT_STARTTIME) *
	       (1000000000ULL / (uint64_t)sysconf(_SC_CLK_TCK));
}

static int64_t clock_ns(clockid_t clock)
{
	struct timespec t = { 0 };

	clock_gettime(clock, &t);
	return t.tv_sec * INT64_C(1000000000) + t.tv_nsec;
}

int64_t ow_process_start_by(pid_t pid, clockid_t clock)
{
	int64_t began = (int64_t)ow_process_start_ns(pid);
	int64_t ahead = clock_ns(clock);

	ahead -= clock_ns(CLOCK_BOOTTIME);
	return began ? began + ahead : 0;
}

/* What stands behind a key of a status; *text_ret is to be freed. */
static const char *status_value(pid_t pid, const char *key, char **text_ret)
{
	char path[32], *line;

	snprintf(path, sizeof(path), "/proc/%d/status", pid);
	line = *text_ret = ow_reach_status(path);
	/* At a line's begin only: a thread may be named like a key. */
	while (line && strncmp(line, key, strlen(key)) != 0) {
		line = strchr(line, '\n');
		if (line)
			line++;
	}
	return line ? line + strlen(key) : NULL;
}

/* "NUMBER:CONTROLLERS:PATH" a line (cgroups(7)); the path has *size_ret bytes. */
static const char *freezer_path(const char *cgroups, size_t *size_ret)
{
	static const char name[] = ":freezer:";
	const char *at = strstr(cgroups, name);

	if (!at)
		return NULL;
	at += sizeof(name) - 1;
	*size_ret = strcspn(at, "\n");
	return at;
}

bool ow_task_is_frozen(pid_t pid, pid_t tid)
{
	_cleanup_(ow_freep) char *cgroups = NULL;
	_cleanup_(ow_freep) char *file = NULL;
	_cleanup_(ow_freep) char *state = NULL;
	char path[64];
	const char *at;
	size_t size;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/cgroup", pid, tid);
	cgroups = ow_reach_text(path, MOST_CGROUPS, NULL);
	at = cgroups ? freezer_path(cgroups, &size) : NULL;
	if (!at ||
	    asprintf(&file, FREEZER "%.*s/freezer.state", (int)size, at) < 0) {
		file = NULL;
		return false;
	}
	state = ow_reach_text(file, MOST_STATE, NULL);
	return state && (strcmp(state, "FROZEN\n") == 0 ||
			 strcmp(state, "FREEZING\n") == 0);
}

long ow_status_number(pid_t pid, const char *key)
{
	_cleanup_(ow_freep) char *text = NULL;
	const char *value = status_value(pid, key, &text);

	return value ? strtol(value, NULL, 10) : -1;
}

char ow_status_state(pid_t tid)
{
	_cleanup_(ow_freep) char *text = NULL;
	const char *value = status_value(tid, "State:", &text);

	return value ? value[strspn(value, " \t")] : '\0';
}

/* Return true if fd is of our own user namespace. */
static bool is_own_namespace(int fd)
{
	struct stat ours, its;

	return !stat("/proc/self/ns/user", &ours) && !fstat(fd, &its) &&
	       ours.st_dev == its.st_dev && ours.st_ino == its.st_ino;
}

/* The owner of the outermost namespace from fd's on, which is below ours; or 0. */
static uid_t owner_below(int fd)
{
	_cleanup_(ow_closep) int at = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	uid_t owner;
	int i, above;

	for (i = 0; i < MOST_USER_LEVELS; i++) {
		above = ioctl(at, NS_GET_PARENT);
		if (above < 0)
			return 0; /* it is not below ours */
		if (is_own_namespace(above)) {
			close(above);
			return ioctl(at, NS_GET_OWNER_UID, &owner) ? 0 : owner;
		}
		close(at);
		at = above;
	}
	return 0;
}

/* A status is read last: it may have 65,536 groups, and take 25 ms. */
static long real_user(pid_t pid)
{
	struct ow_processids ids;

	return ow_processids_read(pid, &ids) ? (long)ids.real :
					       ow_status_number(pid, "Uid:");
}

/* The user namespace of a process; -1: this kernel tells it by /proc alone. */
static int namespace_by_pidfd(pid_t pid)
{
	_cleanup_(ow_closep) int fd = (int)syscall(SYS_pidfd_open, pid, 0);

	return fd < 0 ? -1 : ioctl(fd, GET_USER_NAMESPACE, 0);
}

static size_t read_user_map(const char *path, char *text)
{
	_cleanup_(ow_closep) int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, text, MOST_USER_MAP);

	return n > 0 ? (size_t)n : 0;
}

/*
 * Return true if the numbers of users are ours for a process: its namespace is ours, or
 * one that root has made, as nobody else may pass on all numbers.  Other than for a
 * link of its namespace, nobody waits for that while it executes a program.
 */
static bool has_our_users(pid_t pid)
{
	char path[32], ours[MOST_USER_MAP], its[MOST_USER_MAP];
	size_t size = read_user_map("/proc/self/uid_map", ours);

	snprintf(path, sizeof(path), "/proc/%d/uid_map", pid);
	return size && read_user_map(path, its) == size &&
	       memcmp(ours, its, size) == 0;
}

static int open_link(void *path)
{
	return ow_reach_open(path, O_RDONLY);
}

/* The user namespace that a link leads to; -1, and ETIMEDOUT: that isn't told in time. */
static int namespace_by_link(pid_t pid)
{
	char path[32];
	int fd;

	errno = ETIMEDOUT;
	if (ow_silent_has(pid))
		return -1;
	snprintf(path, sizeof(path), "/proc/%d/ns/user", pid);
	fd = ow_reach_fd(open_link, path);
	if (fd < 0 && errno == ETIMEDOUT) {
		ow_silent_note(pid);
		errno = ETIMEDOUT;
	}
	return fd;
}

long ow_process_user(pid_t pid)
{
	_cleanup_(ow_closep) int fd = -1;
	uid_t owner;
	long uid;

	errno = 0;
	uid = real_user(pid);
	if (uid <= 0)
		return uid;
	fd = namespace_by_pidfd(pid);
	errno = 0;
	if (fd < 0 && !has_our_users(pid))
		fd = namespace_by_link(pid);
	if (fd < 0 && errno == ETIMEDOUT)
		return -1;
	owner = fd < 0 || is_own_namespace(fd) ? 0 : owner_below(fd);
	/* A process with a subordinate id may have made a namespace, too. */
	return (long)ow_subuids_owner(owner ? owner : (uid_t)uid);
}

struct ow_owner ow_process_owner(pid_t pid)
{
	return ow_owner_of((uid_t)ow_process_user(pid));
}
