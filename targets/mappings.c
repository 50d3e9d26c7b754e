// SPDX-License-Identifier: BSD-2-Clause
#include "mappings.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "delegate.h"
#include "error.h"
#include "grow.h"
#include "identity.h"
#include "monotonic.h"
#include "procfs.h"
#include "reach.h"
#include "userefforts.h"

/*
 * A question about one mapping (Linux 6.11, include/uapi/linux/fs.h, struct
 * procmap_query), which headers of older kernels don't have.
 */
struct query {
	uint64_t size; /* of this */
	uint64_t want; /* QUERY_... */
	uint64_t addr;
	/* The answer. */
	uint64_t start, end;
	uint64_t has; /* QUERY_READABLE to QUERY_SHARED, and more */
	uint64_t page_size;
	uint64_t off;
	uint64_t inode;
	uint32_t dev_major, dev_minor;
	uint32_t name_size; /* of the buffer, then of the name with its zero */
	uint32_t build_id_size; /* 0: not asked for */
	uint64_t name;          /* the buffer's address */
	uint64_t build_id;
};

#define QUERY _IOWR('f', 17, struct query)

#define MOST_ASKED (1 << 20)           /* while more and more is mapped */
#define MOST_TEXT  ((size_t)256 << 20) /* bytes of all lines */
#define FIRST_PART ((size_t)512)       /* of these */
#define PATHS_PART 8 /* of all memory: for the paths of a list */

#define QUERY_READABLE   0x01ULL
#define QUERY_WRITABLE   0x02ULL
#define QUERY_EXECUTABLE 0x04ULL
#define QUERY_SHARED     0x08ULL
#define QUERY_OR_NEXT    0x10ULL /* else only the one that addr is in */

/*
 * ns of CPU that a list, and each of its lines, takes at most; and what a run may spend, for
 * each user, on lists that take more.  The kernel makes a name of all mounts that it crosses,
 * of which a user can have 100,000 lie on one another: a millisecond a line.
 */
#define LIST_NS 5000000
#define LINE_NS 20000
static struct ow_userefforts slow_lists = OW_USEREFFORTS(2000000000, 50000000);
static atomic_bool had_slow_list; /* any user */

/* How long a list takes. */
struct pace {
	uint64_t begun; /* by the CPU time of the thread */
	uint64_t spent; /* of slow_lists */
};

static uint64_t hex(const char **p)
{
	uint64_t value = 0;
	unsigned int digit;

	for (;; (*p)++) {
		if (**p >= '0' && **p <= '9')
			digit = **p - '0';
		else if (**p >= 'a' && **p <= 'f')
			digit = **p - 'a' + 10;
		else
			return value;
		value = value << 4 | digit;
	}
}

static uint64_t hex_then(const char **p, char behind)
{
	uint64_t value = hex(p);

	if (**p == behind)
		(*p)++;
	return value;
}

/* The kernel writes a newline in a path as \012 (fs/proc/task_mmu.c). */
static void unescape(char *path)
{
	char *to = path;

	for (; *path; path++) {
		if (strncmp(path, "\\012", 4) == 0) {
			*to++ = '\n';
			path += 3;
		} else {
			*to++ = *path;
		}
	}
	*to = '\0';
}

static bool cut_suffix(char *text, const char *suffix)
{
	size_t size = strlen(text), n = strlen(suffix);

	if (size < n || strcmp(text + size - n, suffix) != 0)
		return false;
	text[size - n] = '\0';
	return true;
}

/* "start-end rwxp offset major:minor inode   path" */
static bool parse_mapping(char *line, struct ow_mapping *m)
{
	const char *p = line;
	unsigned int major;
	char *path;

	*m = (struct ow_mapping){ .start = hex_then(&p, '-') };
	m->end = hex_then(&p, ' ');
	if (m->end <= m->start || strlen(p) < 5)
		return false;
	m->readable = p[0] == 'r';
	m->writable = p[1] == 'w';
	m->executable = p[2] == 'x';
	m->shared = p[3] == 's';
	p += 5;
	m->off = hex_then(&p, ' ');
	major = (unsigned int)hex_then(&p, ':');
	m->dev = makedev(major, (unsigned int)hex_then(&p, ' '));
	m->inode = strtoull(p, &path, 10);
	path += strspn(path, " ");
	m->deleted = cut_suffix(path, OW_DELETED);
	if (strchr(path, '\\'))
		unescape(path);
	m->path = path;
	return true;
}

const char *ow_mappings_keep_path(struct ow_mappings *m, const char *path)
{
	m->names.limit = ow_get_memory_limit() / PATHS_PART;
	return ow_intern_add(&m->names, path);
}

static bool make_room(struct ow_mappings *m)
{
	return ow_grow(&m->list, &m->room, m->nr + 1, sizeof(*m->list));
}

/* The file's lines, of which none is kept longer than any path is. */
struct lines {
	int fd;
	char block[32768];
	char line[PATH_MAX + 256];
	size_t used;  /* of the line */
	size_t total; /* bytes read */
};

/* Add the line, which is whole. */
static bool end_line(struct lines *l, struct ow_mappings *m)
{
	struct ow_mapping *new;

	l->line[l->used] = '\0';
	l->used = 0;
	if (!make_room(m))
		return false;
	new = &m->list[m->nr];
	if (!parse_mapping(l->line, new))
		return true;
	new->path = ow_mappings_keep_path(m, new->path);
	m->nr += new->path != NULL;
	return new->path;
}

static bool take_block(struct lines *l, size_t size, struct ow_mappings *m)
{
	const char *at = l->block, *end = at + size, *stop;
	size_t room, n;

	for (; at < end; at = stop + 1) {
		stop = memchr(at, '\n', (size_t)(end - at));
		n = (size_t)((stop ? stop : end) - at);
		room = sizeof(l->line) - 1 - l->used;
		memcpy(l->line + l->used, at, n < room ? n : room);
		l->used += n < room ? n : room;
		if (!stop)
			return true;
		if (!end_line(l, m))
			return false;
	}
	return true;
}

/* While it is changed without end, each call may wait: return true, and set errno. */
static bool is_late(const struct ow_mappings *m)
{
	if (!m->until_ns || ow_now_ns() < m->until_ns)
		return false;
	errno = ETIMEDOUT;
	return true;
}

/* The share of the user whose process it is, who is asked for once. */
static uint32_t share_of(struct ow_mappings *m)
{
	if (!m->has_share)
		m->share = ow_process_owner(m->pid).share;
	m->has_share = true;
	return m->share;
}

/* Return true, and set errno, if it takes longer than it may. */
static bool is_slow(struct ow_mappings *m, struct pace *pace, uint64_t may_ns)
{
	uint64_t took = ow_cpu_ns() - pace->begun - pace->spent;
	uint32_t share;

	if (took <= may_ns)
		return false;
	share = share_of(m);
	atomic_store(&had_slow_list, true);
	ow_userefforts_spend(&slow_lists, share, took - may_ns);
	pace->spent += took - may_ns;
	if (ow_userefforts_left(&slow_lists, share))
		return false;
	errno = ETIME;
	return true;
}

/*
 * List all that fd's file tells, first in small parts, in case these take long.  Return
 * false, with errno, if that can't be.
 */
static bool list_lines(struct ow_mappings *m, int fd)
{
	struct pace pace = { .begun = ow_cpu_ns() };
	struct lines l = { .fd = fd };
	size_t part = FIRST_PART;
	ssize_t n;

	for (;; part = 2 * part < sizeof(l.block) ? 2 * part : part) {
		if (is_late(m) || is_slow(m, &pace, LIST_NS + m->nr * LINE_NS))
			return false;
		ow_delegate_enter();
		n = read(fd, l.block, part);
		ow_delegate_leave();
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n == 0;
		l.total += (size_t)n;
		if (l.total > MOST_TEXT) {
			errno = EFBIG;
			return false;
		}
		if (!take_block(&l, (size_t)n, m)) {
			errno = ENOMEM;
			return false;
		}
	}
}

/* Explain why a process's file can't be opened or read. */
static int explain(pid_t pid, struct ow_error *err)
{
	bool is_denied = errno == EACCES;

	if (errno == ETIME)
		return ow_fail(err, OW_CODE_TIMEOUT,
			       "it takes the kernel too long to list what is "
			       "mapped");
	if (errno == ETIMEDOUT)
		return ow_fail(err, OW_CODE_TIMEOUT,
			       "what is mapped could not be listed in time, as "
			       "it changes all the while");
	if (errno == ENOENT || errno == ESRCH)
		return ow_fail(err, OW_CODE_ABSENT, "no process %d", pid);
	if (is_denied && geteuid() == 0)
		return ow_fail(err, OW_CODE_PERMISSION,
			       "not allowed to look at process %d: root is "
			       "restricted here",
			       pid);
	/* Its user may not, either, as with PR_SET_DUMPABLE or a set-uid bit. */
	if (is_denied && ow_status_number(pid, "Uid:") == (long)getuid())
		return ow_fail(
			err, OW_CODE_PERMISSION,
			"not allowed to look at process %d: its user may "
			"not trace it, run as root",
			pid);
	if (is_denied)
		return ow_fail(err, OW_CODE_PERMISSION,
			       "not allowed to look at process %d: run as its "
			       "user or as root",
			       pid);
	return ow_fail(err, OW_CODE_SYSTEM, "read /proc/%d/maps", pid);
}

static int open_maps(pid_t pid)
{
	char path[32];

	snprintf(path, sizeof(path), "/proc/%d/maps", pid);
	return ow_reach_open(path, O_RDONLY);
}

static int read_text(pid_t pid, int fd, struct ow_mappings *ret,
		     struct ow_error *err)
{
	*ret = (struct ow_mappings){ .pid = pid, .until_ns = ret->until_ns };
	return fd >= 0 && list_lines(ret, fd) ? 0 : explain(pid, err);
}

static int read_all(pid_t pid, struct ow_mappings *ret, struct ow_error *err)
{
	_cleanup_(ow_closep) int fd = open_maps(pid);

	return read_text(pid, fd, ret, err);
}

/* Where the list could not be read, its file isn't kept. */
static int keep_open(struct ow_mappings *m, int fd, int failed)
{
	m->is_open = fd >= 0 && !failed;
	m->fd = fd;
	if (fd >= 0 && failed)
		close(fd);
	return failed;
}

static int read_open(pid_t pid, struct ow_mappings *ret, struct ow_error *err)
{
	int fd = open_maps(pid);

	return keep_open(ret, fd, read_text(pid, fd, ret, err));
}

/*
 * Ask for the first mapping that ends above addr, and for its path if name isn't
 * NULL; false: see errno.
 */
static bool ask(int fd, uint64_t addr, uint64_t want, char *name,
		struct ow_mapping *ret)
{
	struct query q = {
		.size = sizeof(q),
		.want = want | QUERY_OR_NEXT,
		.addr = addr,
		.name_size = name ? PATH_MAX : 0,
		.name = (uintptr_t)name,
	};
	int failed;

	if (name)
		name[0] = '\0';
	ow_delegate_enter();
	failed = ioctl(fd, QUERY, &q);
	if (failed && name && errno == ENAMETOOLONG) {
		strcpy(name, "[path too long]");
		q.name_size = 0;
		q.name = 0;
		failed = ioctl(fd, QUERY, &q);
	}
	ow_delegate_leave();
	if (failed)
		return false;
	if (q.end <= addr || q.end <= q.start) {
		errno = EIO;
		return false;
	}
	*ret = (struct ow_mapping){
		.start = q.start,
		.end = q.end,
		.off = q.off,
		.dev = makedev(q.dev_major, q.dev_minor),
		.inode = q.inode,
		.readable = q.has & QUERY_READABLE,
		.writable = q.has & QUERY_WRITABLE,
		.executable = q.has & QUERY_EXECUTABLE,
		.shared = q.has & QUERY_SHARED,
		.deleted = name && cut_suffix(name, OW_DELETED),
		.path = name ? name : "",
	};
	return true;
}

/* The number of the first listed one that ends above addr. */
static size_t first_from(const struct ow_mappings *m, uint64_t addr)
{
	size_t low = 0, high = m->nr, mid;

	while (low < high) {
		mid = low + (high - low) / 2;
		if (m->list[mid].end <= addr)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

/* List what the kernel has just told, in place of what was there before. */
static struct ow_mapping *place(struct ow_mappings *m,
				const struct ow_mapping *told)
{
	size_t at = first_from(m, told->start), behind = at;
	const char *path = ow_mappings_keep_path(m, told->path);

	if (!path || !make_room(m))
		return NULL;
	while (behind < m->nr && m->list[behind].start < told->end)
		behind++;
	memmove(&m->list[at + 1], &m->list[behind],
		(m->nr - behind) * sizeof(*m->list));
	m->nr = m->nr - behind + at + 1;
	m->list[at] = *told;
	m->list[at].path = path;
	return &m->list[at];
}

/* False, with errno, where not all code could be listed. */
static bool ask_for_code(struct ow_mappings *m)
{
	struct ow_mapping told;
	struct pace pace = { .begun = ow_cpu_ns() };
	char name[PATH_MAX];
	uint64_t addr = 0;
	int i;

	for (i = 0; i < MOST_ASKED; i++) {
		if (is_late(m) || is_slow(m, &pace, LIST_NS + m->nr * LINE_NS))
			return false;
		if (!ask(m->fd, addr, QUERY_EXECUTABLE, name, &told))
			return errno == ENOENT;
		if (!place(m, &told))
			return false;
		addr = told.end;
	}
	errno = EFBIG;
	return false;
}

static int read_code(pid_t pid, struct ow_mappings *ret, struct ow_error *err)
{
	uint64_t until_ns = ret->until_ns;
	int fd = open_maps(pid);

	*ret = (struct ow_mappings){ .pid = pid, .until_ns = until_ns };
	if (fd < 0)
		return explain(pid, err);
	*ret = (struct ow_mappings){
		.is_part = true,
		.is_open = true,
		.fd = fd,
		.pid = pid,
		.until_ns = until_ns,
	};
	if (ask_for_code(ret) && ret->nr > 0)
		return 0;
	if (errno == ETIME)
		return keep_open(ret, fd, explain(pid, err));
	if (errno != ENOTTY) {
		/* Its memory may be gone, and another program's come. */
		ow_mappings_free(ret);
		ret->until_ns = until_ns;
		return read_open(pid, ret, err);
	}
	/* The kernel can't be asked: nothing was listed. */
	return keep_open(ret, fd, read_text(pid, fd, ret, err));
}

int ow_mappings_read_until(pid_t pid, enum ow_mappings_part part,
			   uint64_t until_ns, struct ow_mappings *ret,
			   struct ow_error *err)
{
	static int (*const reads[])(pid_t pid, struct ow_mappings * ret,
				    struct ow_error * err) = {
		[OW_MAPPINGS_ALL] = read_all,
		[OW_MAPPINGS_OPEN] = read_open,
		[OW_MAPPINGS_CODE] = read_code,
	};

	*ret = (struct ow_mappings){ .pid = pid, .until_ns = until_ns };
	return reads[part](pid, ret, err);
}

int ow_mappings_read(pid_t pid, struct ow_mappings *ret, struct ow_error *err)
{
	return ow_mappings_read_until(pid, OW_MAPPINGS_ALL, 0, ret, err);
}

int ow_mappings_read_open(pid_t pid, struct ow_mappings *ret,
			  struct ow_error *err)
{
	return ow_mappings_read_until(pid, OW_MAPPINGS_OPEN, 0, ret, err);
}

int ow_mappings_read_code(pid_t pid, struct ow_mappings *ret,
			  struct ow_error *err)
{
	return ow_mappings_read_until(pid, OW_MAPPINGS_CODE, 0, ret, err);
}

/* The kernel has [vsyscall] there, which it does not tell of when asked. */
#define KERNEL_HALF (1ULL << 63)

const struct ow_mapping *ow_mappings_next_code(const struct ow_mappings *m,
					       size_t i)
{
	for (; i < m->nr && m->list[i].start < KERNEL_HALF; i++)
		if (m->list[i].executable || m->list[i].is_around)
			return &m->list[i];
	return NULL;
}

/* Only the vDSO's name tells it from memory that a program has copied code to. */
static bool is_still(const struct ow_mapping *listed,
		     const struct ow_mapping *now, int fd)
{
	struct ow_mapping again;
	char name[PATH_MAX];

	if (listed->start != now->start || listed->end != now->end)
		return false;
	if (listed->is_remapped)
		return listed->own_dev == now->dev &&
		       listed->own_inode == now->inode;
	if (listed->off != now->off || listed->dev != now->dev ||
	    listed->inode != now->inode)
		return false;
	return strcmp(listed->path, "[vdso]") != 0 ||
	       (ask(fd, now->start, QUERY_EXECUTABLE, name, &again) &&
		strcmp(name, listed->path) == 0);
}

static bool has_same_code(const struct ow_mappings *m, int fd)
{
	const struct ow_mapping *p = ow_mappings_next_code(m, 0);
	struct ow_mapping now;

	for (; p; p = ow_mappings_next_code(m, (size_t)(p - m->list) + 1))
		if (is_late(m) ||
		    !ask(fd, p->start, p->executable ? QUERY_EXECUTABLE : 0,
			 NULL, &now) ||
		    !is_still(p, &now, fd))
			return false;
	return true;
}

bool ow_mapping_is_object(const struct ow_mapping *m)
{
	return ow_identity_is_file(m->dev, m->inode) ||
	       strcmp(m->path, "[vdso]") == 0;
}

bool ow_mapping_look(pid_t pid, const struct ow_mapping *m,
		     struct ow_identity *ret)
{
	char path[64];
	bool found;

	snprintf(path, sizeof(path), "/proc/%d/map_files/%llx-%llx", pid,
		 (unsigned long long)m->start, (unsigned long long)m->end);
	ow_delegate_enter();
	found = ow_identity_look(path, ret);
	ow_delegate_leave();
	return found;
}

bool ow_mappings_is_outlived(const struct ow_mappings *m)
{
	char first;

	return m->is_open && ow_reach_pread(m->fd, &first, 1, 0) <= 0;
}

bool ow_mappings_is_current(struct ow_mappings *m, pid_t pid)
{
	int fd = open_maps(pid);
	bool is_current = fd >= 0 && m->nr > 0 && has_same_code(m, fd) &&
			  !ow_mappings_is_outlived(m);

	if (fd >= 0 && !m->is_open)
		close(fd);
	if (fd < 0 || !m->is_open)
		return is_current;
	close(m->fd);
	m->fd = fd;
	return is_current;
}

/* Where the kernel can't be asked by address. */
static bool lists(pid_t pid, int fd, const struct ow_mapping *listed)
{
	struct ow_mappings all = { 0 };
	const struct ow_mapping *now;
	bool is_there = !read_text(pid, fd, &all, NULL);

	now = is_there ? ow_mappings_from(&all, listed->start) : NULL;
	is_there = now && is_still(listed, now, fd);
	ow_mappings_free(&all);
	return is_there;
}

bool ow_mappings_is_still(pid_t pid, const struct ow_mapping *listed)
{
	_cleanup_(ow_closep) int fd = open_maps(pid);
	struct ow_mapping now;

	if (fd >= 0 && ask(fd, listed->start, 0, NULL, &now))
		return is_still(listed, &now, fd);
	return fd >= 0 && errno == ENOTTY && lists(pid, fd, listed);
}

void ow_mappings_close(struct ow_mappings *m)
{
	if (m->is_open)
		close(m->fd);
	m->is_open = false;
}

void ow_mappings_free(struct ow_mappings *m)
{
	ow_mappings_close(m);
	free(m->list);
	ow_intern_deinit(&m->names);
	*m = (struct ow_mappings){ 0 };
}

bool ow_mappings_has(const struct ow_mappings *m, uint64_t addr)
{
	size_t at = first_from(m, addr);

	return at < m->nr && m->list[at].start <= addr;
}

/* Have the name, too, of a file unless lists have taken too long. */
static bool ask_name(struct ow_mappings *m, struct ow_mapping *told, char *name)
{
	struct pace pace = { .begun = ow_cpu_ns() };
	bool found;

	if (ow_identity_is_file(told->dev, told->inode) &&
	    atomic_load(&had_slow_list) &&
	    !ow_userefforts_left(&slow_lists, share_of(m))) {
		told->path = strcpy(name, "[path not asked for]");
		return true;
	}
	found = ask(m->fd, told->start, 0, name, told);
	is_slow(m, &pace, LINE_NS);
	return found;
}

/* List what is mapped from addr on; what is known of it already stays. */
static struct ow_mapping *add_from(struct ow_mappings *m, uint64_t addr)
{
	struct ow_mapping told;
	char name[PATH_MAX];
	size_t at;

	if (!ask(m->fd, addr, 0, NULL, &told))
		return NULL;
	at = first_from(m, told.start);
	if (at < m->nr && m->list[at].start == told.start &&
	    m->list[at].end == told.end)
		return &m->list[at];
	/* The name of a file may take long, and tells of code only. */
	if ((told.executable || !ow_identity_is_file(told.dev, told.inode)) &&
	    !ask_name(m, &told, name))
		return NULL;
	return place(m, &told);
}

bool ow_mappings_name(struct ow_mappings *m, struct ow_mapping *listed)
{
	struct ow_mapping told = *listed;
	char name[PATH_MAX];

	if (listed->path[0] || !ow_identity_is_file(listed->dev, listed->inode))
		return true;
	if (!m->is_open || !ask_name(m, &told, name) ||
	    told.start != listed->start || told.inode != listed->inode)
		return false;
	listed->path = ow_mappings_keep_path(m, name);
	listed->deleted = told.deleted;
	return listed->path;
}

const struct ow_mapping *ow_mappings_from(struct ow_mappings *m, uint64_t addr)
{
	size_t at = first_from(m, addr);
	struct ow_mapping *listed = at < m->nr ? &m->list[at] : NULL;
	bool is_known = listed && (listed->start <= addr ||
				   (listed->hole && listed->hole <= addr));

	if (!m->is_part || !m->is_open || is_known)
		return listed;
	if (is_late(m))
		return NULL;
	listed = add_from(m, addr);
	if (listed && listed->start > addr)
		listed->hole = addr;
	return listed;
}

bool ow_mappings_peek(const struct ow_mappings *m, uint64_t addr,
		      struct ow_mapping *ret)
{
	size_t at = first_from(m, addr);
	bool is_there = at < m->nr;

	if (m->is_part && m->is_open &&
	    !(is_there && m->list[at].start <= addr)) {
		ret->path = "";
		return ask(m->fd, addr, 0, NULL, ret);
	}
	if (is_there)
		*ret = m->list[at];
	return is_there;
}

/* Return true if a mapping is to be listed, and mark the one that is listed. */
static bool is_to_add(struct ow_mappings *m, const struct ow_mapping *around)
{
	size_t at = first_from(m, around->start);

	if (at == m->nr || m->list[at].start >= around->end)
		return true;
	if (m->list[at].start == around->start &&
	    m->list[at].end == around->end)
		m->list[at].is_around = true;
	return false;
}

/* Make room in the list for nr that have their places in it, from its end on. */
static void merge(struct ow_mappings *m, const struct ow_mapping *new,
		  size_t nr)
{
	size_t from = m->nr, to = m->nr + nr;

	m->nr = to;
	while (nr > 0) {
		if (from > 0 && m->list[from - 1].start > new[nr - 1].start) {
			m->list[--to] = m->list[--from];
		} else {
			m->list[--to] = new[--nr];
			m->list[to].is_around = true;
		}
	}
}

bool ow_mappings_add_around(struct ow_mappings *m,
			    const struct ow_mapping *around, size_t nr)
{
	struct ow_mapping *more = calloc(nr + 1, sizeof(*more));
	uint64_t end = 0;
	size_t i, nr_more = 0;
	bool added;

	for (i = 0; more && i < nr; i++) {
		if (around[i].start < end || !is_to_add(m, &around[i]))
			continue;
		end = around[i].end;
		more[nr_more++] = around[i];
	}
	added = more &&
		(nr_more == 0 || ow_grow(&m->list, &m->room, m->nr + nr_more,
					 sizeof(*m->list)));
	if (added)
		merge(m, more, nr_more);
	free(more);
	return added;
}

bool ow_mappings_is_plain(struct ow_mappings *m, uint64_t start, uint64_t end)
{
	const struct ow_mapping *listed;
	struct ow_mapping now;

	if (m->is_open && ask(m->fd, start, 0, NULL, &now))
		listed = &now;
	else
		listed = ow_mappings_from(m, start);
	return listed && !ow_identity_is_file(listed->dev, listed->inode) &&
	       listed->start <= start && listed->end >= end;
}
