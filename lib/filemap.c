// SPDX-License-Identifier: BSD-2-Clause
#include "filemap.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <outwind/outwind.h>

#include "error.h"
#include "leftout.h"
#include "reach.h"

#define MOST_HANDLERS 16 /* that were found in place of ours */

/*
 * A mapping, or a free place for one.  All are in a list that only grows, so
 * that the handler may follow it at any time.
 */
struct ow_filemap {
	uintptr_t start; /* 0: free; written last */
	size_t size;     /* whole pages */
	size_t own;      /* of these, that are the file's */
	bool is_cut, is_told;
	bool is_others; /* who unmap it */
	char *name;
	struct ow_filemap *next;      /* of all */
	struct ow_filemap *next_free; /* if free */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct ow_filemap *all_maps, *free_maps;
static unsigned int nr_cut;

/* The handlers before ours; written before nr_handlers, and never again. */
static struct sigaction handlers[MOST_HANDLERS];
static unsigned int nr_handlers;
static bool is_left; /* to the program's own handler */
/* The fault that this thread passes on, and the frame that does so. */
static __thread const siginfo_t *passed
	__attribute__((tls_model("initial-exec")));
/* Code of others maps files in this thread, and one of them was cut off. */
static __thread volatile bool is_others,
	is_others_cut __attribute__((tls_model("initial-exec")));
static __thread unsigned int passed_to
	__attribute__((tls_model("initial-exec"))); /* which of handlers */
static __thread const char *passed_by
	__attribute__((tls_model("initial-exec")));

/* What others have mapped is not known to be more than the page. */
static bool mend_others(const void *addr)
{
	const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);

	if (!is_others ||
	    mmap((void *)((uintptr_t)addr / page * page), page, PROT_READ,
		 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == MAP_FAILED)
		return false;
	is_others_cut = true;
	__atomic_add_fetch(&nr_cut, 1, __ATOMIC_ACQ_REL);
	return true;
}

/* Async-signal-safe.  The whole mapping: one signal a file, one area for it. */
bool ow_sigbus_mend(const void *addr)
{
	struct ow_filemap *m = __atomic_load_n(&all_maps, __ATOMIC_ACQUIRE);
	uintptr_t start = 0;

	for (; m; m = m->next) {
		start = __atomic_load_n(&m->start, __ATOMIC_ACQUIRE);
		if (start && (uintptr_t)addr - start < m->size)
			break;
	}
	if (!m)
		return mend_others(addr);
	if (mmap((void *)start, m->size, PROT_READ,
		 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == MAP_FAILED)
		return false;
	if (!__atomic_exchange_n(&m->is_cut, true, __ATOMIC_ACQ_REL))
		__atomic_add_fetch(&nr_cut, 1, __ATOMIC_ACQ_REL);
	return true;
}

/* As if there were no handler: the access is made again, and ends us. */
static void end_by(int nr, const siginfo_t *info)
{
	signal(nr, SIG_DFL);
	if (info->si_code <= 0)
		raise(nr); /* somebody sent it */
}

static void call(const struct sigaction *action, int nr, siginfo_t *info,
		 void *context)
{
	if (action->sa_flags & SA_SIGINFO)
		action->sa_sigaction(nr, info, context);
	else if (action->sa_handler == SIG_DFL)
		end_by(nr, info);
	else if (action->sa_handler != SIG_IGN)
		action->sa_handler(nr);
	else if (info->si_code > 0) /* the kernel ignores no fault */
		end_by(nr, info);
}

/*
 * To the handler that was found last.  If that one calls ours in turn, as ours was
 * there before it, to the one found before it, and so on.  Handlers may also jump
 * out and never return: the next fault may have the same place on the stack then,
 * but is not deeper in it.
 */
static __attribute__((noinline)) void pass_on(int nr, siginfo_t *info,
					      void *context)
{
	const char *here = __builtin_frame_address(0);
	unsigned int n = __atomic_load_n(&nr_handlers, __ATOMIC_ACQUIRE) - 1;

	if (info == passed && here < passed_by)
		n = passed_to ? passed_to - 1 : 0;
	passed = info;
	passed_by = here;
	passed_to = n;
	call(&handlers[n], nr, info, context);
	passed = NULL;
}

static void on_sigbus(int nr, siginfo_t *info, void *context)
{
	int saved = errno;

	if (info->si_code <= 0 ||
	    (!ow_sigbus_mend(info->si_addr) && !mend_others(info->si_addr)))
		pass_on(nr, info, context);
	errno = saved;
}

/* Return true if the handler is one that is known already. */
static bool is_known(const struct sigaction *found)
{
	unsigned int i;

	for (i = 0; i < nr_handlers; i++)
		if (handlers[i].sa_sigaction == found->sa_sigaction)
			return true;
	return false;
}

/* Have SIGBUS come to ours, also if the program has set its own meanwhile. */
static void handle(void)
{
	struct sigaction ours = { .sa_sigaction = on_sigbus }, found;
	sigset_t set;

	if (is_left)
		return;
	/* A fault while it is blocked ends the process. */
	sigemptyset(&set);
	sigaddset(&set, SIGBUS);
	pthread_sigmask(SIG_UNBLOCK, &set, NULL);
	if (sigaction(SIGBUS, NULL, &found) || found.sa_sigaction == on_sigbus)
		return;
	if (!is_known(&found)) {
		if (nr_handlers == MOST_HANDLERS)
			return;
		handlers[nr_handlers] = found;
		__atomic_store_n(&nr_handlers, nr_handlers + 1,
				 __ATOMIC_RELEASE);
	}
	ours.sa_mask = found.sa_mask;
	ours.sa_flags = SA_SIGINFO | SA_ONSTACK |
			(found.sa_flags & (SA_RESTART | SA_NODEFER));
	sigaction(SIGBUS, &ours, NULL);
}

void ow_sigbus_leave(void)
{
	pthread_mutex_lock(&lock);
	is_left = true;
	pthread_mutex_unlock(&lock);
}

/* A place that is free, or a new one, which is in the list already. */
static struct ow_filemap *take_place(void)
{
	struct ow_filemap *m = free_maps;

	if (m) {
		free_maps = m->next_free;
		return m;
	}
	m = calloc(1, sizeof(*m));
	if (!m)
		return NULL;
	m->next = all_maps;
	__atomic_store_n(&all_maps, m, __ATOMIC_RELEASE);
	return m;
}

static void free_place(struct ow_filemap *m)
{
	free(m->name);
	m->name = NULL;
	m->next_free = free_maps;
	free_maps = m;
}

/* A place with that name, for what is whole. */
static struct ow_filemap *new_place(const char *name)
{
	struct ow_filemap *m = take_place();

	if (!m)
		return NULL;
	m->is_cut = m->is_told = m->is_others = false;
	m->name = strdup(name);
	if (m->name)
		return m;
	free_place(m);
	return NULL;
}

bool ow_filemap_is_huge(int fd)
{
	struct statfs fs;

	return !fstatfs(fd, &fs) && (uint32_t)fs.f_type == HUGETLBFS_MAGIC;
}

/* Have the page after the file's be none of its. */
static bool end_file(const struct ow_filemap *m, char *at)
{
	return mmap(at + m->own, m->size - m->own, PROT_READ,
		    MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1,
		    0) != MAP_FAILED;
}

static struct ow_filemap *add(int fd, size_t size, const char *name, int flags,
			      bool is_growing)
{
	const size_t page = (size_t)sysconf(_SC_PAGESIZE);
	struct ow_filemap *m;
	void *at;

	if (size > SIZE_MAX - 2 * page) {
		errno = ENOMEM;
		return NULL;
	}
	if (ow_filemap_is_huge(fd)) {
		errno = EOPNOTSUPP;
		return NULL;
	}
	m = new_place(name);
	if (!m)
		return NULL;
	/* One page more: whoever reads on after the end finds a zero. */
	m->size = (size + page - 1) / page * page + page;
	m->own = is_growing ? m->size - page : m->size;
	at = mmap(NULL, m->size, PROT_READ, MAP_PRIVATE | flags, fd, 0);
	if (at != MAP_FAILED && is_growing && !end_file(m, at)) {
		munmap(at, m->size);
		at = MAP_FAILED;
	}
	if (at == MAP_FAILED) {
		free_place(m);
		return NULL;
	}
	__atomic_store_n(&m->start, (uintptr_t)at, __ATOMIC_RELEASE);
	return m;
}

void ow_filemap_prepare(void)
{
	pthread_mutex_lock(&lock);
	handle();
	pthread_mutex_unlock(&lock);
}

static struct ow_filemap *open_map(int fd, size_t size, const char *name,
				   int flags, bool is_growing)
{
	struct ow_filemap *m;

	pthread_mutex_lock(&lock);
	handle();
	m = add(fd, size, name, flags, is_growing);
	pthread_mutex_unlock(&lock);
	return m;
}

struct ow_filemap *ow_filemap_open(int fd, size_t size, const char *name,
				   int flags)
{
	return open_map(fd, size, name, flags, false);
}

struct ow_filemap *ow_filemap_open_growing(int fd, size_t size,
					   const char *name, int flags)
{
	return open_map(fd, size, name, flags, true);
}

struct ow_filemap *ow_filemap_adopt(const void *bytes, size_t size,
				    const char *name)
{
	const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
	uintptr_t start = (uintptr_t)bytes / page * page;
	uintptr_t end = ((uintptr_t)bytes + size + page - 1) / page * page;
	struct ow_filemap *m;

	pthread_mutex_lock(&lock);
	handle();
	m = new_place(name);
	if (m) {
		m->is_others = true;
		m->size = m->own = end - start;
		__atomic_store_n(&m->start, start, __ATOMIC_RELEASE);
	}
	pthread_mutex_unlock(&lock);
	return m;
}

void ow_filemap_begin_others(void)
{
	is_others_cut = false;
	is_others = true;
}

bool ow_filemap_end_others(void)
{
	is_others = false;
	return !is_others_cut;
}

bool ow_filemap_has(const struct ow_filemap *map, const void *at)
{
	return (uintptr_t)at - map->start < map->size;
}

const char *ow_filemap_name(const struct ow_filemap *map)
{
	return map->name;
}

const uint8_t *ow_filemap_bytes(const struct ow_filemap *map)
{
	return (const uint8_t *)map->start;
}

#define LINK_SIZE 64

/* The link that leads to a mapping's file.  (proc_pid_map_files(5)) */
static void write_link(const struct ow_filemap *map, char link[LINK_SIZE])
{
	snprintf(link, LINK_SIZE, "/proc/self/map_files/%llx-%llx",
		 (unsigned long long)map->start,
		 (unsigned long long)map->start + map->own);
}

bool ow_filemap_look(const struct ow_filemap *map, struct ow_identity *ret)
{
	char link[LINK_SIZE];

	write_link(map, link);
	return ow_identity_look(link, ret);
}

ssize_t ow_filemap_read(const struct ow_filemap *map, void *buf, size_t size,
			uint64_t off)
{
	_cleanup_(ow_closep) int fd = -1;
	char link[LINK_SIZE];

	write_link(map, link);
	fd = open(link, O_RDONLY | O_CLOEXEC);
	return fd < 0 ? -1 : ow_reach_pread(fd, buf, size, (off_t)off);
}

bool ow_filemap_is_cut(const struct ow_filemap *map)
{
	return map && __atomic_load_n(&map->is_cut, __ATOMIC_ACQUIRE);
}

unsigned int ow_filemap_nr_cut(void)
{
	return __atomic_load_n(&nr_cut, __ATOMIC_ACQUIRE);
}

static void note_if_cut(struct ow_filemap *m)
{
	if (!ow_filemap_is_cut(m) || m->is_told)
		return;
	m->is_told = true;
	ow_lose_file(m->name, OW_LOST_CUT);
}

const char *ow_file_lost(size_t i)
{
	struct ow_filemap *m;

	pthread_mutex_lock(&lock);
	for (m = all_maps; m; m = m->next)
		if (m->start)
			note_if_cut(m);
	pthread_mutex_unlock(&lock);
	return ow_lost_line(i);
}

size_t ow_nr_files_lost(void)
{
	ow_file_lost(0);
	return ow_nr_lost_lines();
}

void ow_filemap_rest(void)
{
	struct ow_filemap *m;

	pthread_mutex_lock(&lock);
	for (m = all_maps; m; m = m->next)
		if (m->start && !m->is_others)
			madvise((void *)m->start, m->size, MADV_DONTNEED);
	pthread_mutex_unlock(&lock);
}

void ow_filemap_close(struct ow_filemap *m)
{
	void *start;

	if (!m)
		return;
	pthread_mutex_lock(&lock);
	start = (void *)m->start;
	note_if_cut(m);
	__atomic_store_n(&m->start, 0, __ATOMIC_RELEASE);
	if (!m->is_others)
		munmap(start, m->size);
	free_place(m);
	pthread_mutex_unlock(&lock);
}
