// SPDX-License-Identifier: BSD-2-Clause
#include "procfs.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "error.h"

/* The whole of a /proc file, terminated; the caller frees it.  NULL: errno. */
static char *read_whole(const char *path, size_t *size_ret)
{
	_cleanup_(ow_closep) int fd = open(path, O_RDONLY | O_CLOEXEC);
	size_t size = 0, room = 32768;
	char *text, *more;
	ssize_t n;

	if (fd < 0)
		return NULL;
	text = malloc(room);
	while (text) {
		n = read(fd, text + size, room - size - 1);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			break;
		size += n;
		if (room - size > 4096)
			continue;
		more = realloc(text, room *= 2);
		if (!more)
			free(text);
		text = more;
	}
	if (!text)
		return NULL;
	text[size] = '\0';
	*size_ret = size;
	return text;
}

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

	m->start = hex_then(&p, '-');
	m->end = hex_then(&p, ' ');
	if (m->end <= m->start || strlen(p) < 5)
		return false;
	m->readable = p[0] == 'r';
	m->writable = p[1] == 'w';
	m->executable = p[2] == 'x';
	p += 5;
	m->off = hex_then(&p, ' ');
	major = (unsigned int)hex_then(&p, ':');
	m->dev = makedev(major, (unsigned int)hex_then(&p, ' '));
	m->inode = strtoull(p, &path, 10);
	path += strspn(path, " ");
	m->deleted = cut_suffix(path, " (deleted)");
	if (strchr(path, '\\'))
		unescape(path);
	m->path = path;
	return true;
}

static size_t count_lines(const char *text)
{
	size_t nr = 0;

	for (; (text = strchr(text, '\n')); text++)
		nr++;
	return nr;
}

int ow_mappings_read(pid_t pid, struct ow_mappings *ret, struct ow_error *err)
{
	char path[32], *line, *end;
	size_t size;

	memset(ret, 0, sizeof(*ret));
	snprintf(path, sizeof(path), "/proc/%d/maps", pid);
	ret->text = read_whole(path, &size);
	if (!ret->text && (errno == ENOENT || errno == ESRCH))
		return ow_fail(err, OW_CODE_ABSENT, "no process %d", pid);
	if (!ret->text && errno == EACCES)
		return ow_fail(err, OW_CODE_PERMISSION,
			       "not allowed to look at process %d: run as its "
			       "user or as root",
			       pid);
	if (!ret->text)
		return ow_fail(err, OW_CODE_SYSTEM, "read %s", path);
	ret->list = calloc(count_lines(ret->text) + 1, sizeof(*ret->list));
	if (!ret->list)
		return ow_fail(err, OW_CODE_MEMORY, "out of memory");
	for (line = ret->text; (end = strchr(line, '\n')); line = end + 1) {
		*end = '\0';
		if (parse_mapping(line, &ret->list[ret->nr]))
			ret->nr++;
	}
	return 0;
}

void ow_mappings_free(struct ow_mappings *m)
{
	free(m->list);
	free(m->text);
	memset(m, 0, sizeof(*m));
}

const struct ow_mapping *ow_mappings_from(const struct ow_mappings *m,
					  uint64_t addr)
{
	size_t low = 0, high = m->nr, mid;

	while (low < high) {
		mid = low + (high - low) / 2;
		if (m->list[mid].end <= addr)
			low = mid + 1;
		else
			high = mid;
	}
	return low < m->nr ? &m->list[low] : NULL;
}

static void closedirp(DIR **dir)
{
	if (*dir)
		closedir(*dir);
}

int ow_tasks_list(pid_t pid, pid_t **ret, size_t *nr_ret, struct ow_error *err)
{
	_cleanup_(closedirp) DIR *dir = NULL;
	_cleanup_(ow_freep) pid_t *list = NULL;
	size_t nr = 0, room = 0;
	struct dirent *entry;
	char path[32];
	pid_t tid, *more;

	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	dir = opendir(path);
	if (!dir)
		return ow_fail(err, OW_CODE_ABSENT, "no process %d", pid);
	while ((entry = readdir(dir))) {
		tid = atoi(entry->d_name);
		if (tid <= 0)
			continue;
		if (nr == room) {
			room = room ? 2 * room : 64;
			more = realloc(list, room * sizeof(*list));
			if (!more)
				return ow_fail(err, OW_CODE_MEMORY,
					       "out of memory");
			list = more;
		}
		list[nr++] = tid;
	}
	*ret = list;
	*nr_ret = nr;
	list = NULL;
	return 0;
}

bool ow_task_stat(pid_t pid, pid_t tid, char *name, size_t size, char *state)
{
	char path[64], text[512], *open_paren, *close_paren;
	_cleanup_(ow_closep) int fd = -1;
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/stat", pid, tid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
	if (n <= 0)
		return false;
	text[n] = '\0';
	/* The name may hold parentheses of its own. */
	open_paren = strchr(text, '(');
	close_paren = strrchr(text, ')');
	if (!open_paren || !close_paren || close_paren[1] != ' ')
		return false;
	*close_paren = '\0';
	snprintf(name, size, "%s", open_paren + 1);
	*state = close_paren[2];
	return true;
}

long ow_status_number(pid_t pid, const char *key)
{
	char path[32], *line;
	_cleanup_(ow_freep) char *text = NULL;
	size_t size;

	snprintf(path, sizeof(path), "/proc/%d/status", pid);
	text = read_whole(path, &size);
	line = text;
	/* At a line's begin only: a thread may be named like a key. */
	while (line && strncmp(line, key, strlen(key)) != 0) {
		line = strchr(line, '\n');
		if (line)
			line++;
	}
	return line ? strtol(line + strlen(key), NULL, 10) : -1;
}
