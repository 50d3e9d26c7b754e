// SPDX-License-Identifier: BSD-2-Clause
#include "processmem.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <unistd.h>

#include "delegate.h"
#include "error.h"
#include "reach.h"

#define PATIENCE_NS   200000000 /* for a running process to serve a read */
#define MOST_GIVEN_UP 8
#define PAGES_AT_ONCE 512
#define MOST_PEEKED   (4U << 20) /* of a process that stands still: 0.6 s */

/* Linux, Documentation/admin-guide/mm/pagemap.rst. */
#define PAGE_IS_IN_MEMORY (1ULL << 63)
#define PAGE_IS_SWAPPED   (1ULL << 62)
#define PAGE_IS_FILES     (1ULL << 61) /* or of memory that is shared */

static int open_mem_file(pid_t pid)
{
	char path[32];

	snprintf(path, sizeof(path), "/proc/%d/mem", pid);
	return ow_reach_open(path, O_RDONLY);
}

void ow_processmem_open(struct ow_processmem *mem, pid_t pid,
			enum ow_reading how)
{
	*mem = (struct ow_processmem){ .pid = pid, .how = how, .fd = -1 };
	if (how == OW_READING_FILE)
		mem->fd = open_mem_file(pid);
}

void ow_processmem_close(struct ow_processmem *mem)
{
	if (mem->fd >= 0)
		close(mem->fd);
	mem->fd = -1;
}

static size_t read_by_file(struct ow_processmem *mem, uint64_t addr,
			   uint8_t *buf, size_t size)
{
	size_t got = 0;
	ssize_t n;

	if (mem->fd < 0)
		mem->fd = open_mem_file(mem->pid);
	while (mem->fd >= 0 && got < size) {
		ow_delegate_enter();
		n = pread(mem->fd, buf + got, size - got, (off_t)(addr + got));
		ow_delegate_leave();
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			break;
		got += n;
	}
	return got;
}

/* Whole words only: that is what ptrace(2) reads. */
static size_t read_by_ptrace(const struct ow_processmem *mem, uint64_t addr,
			     uint8_t *buf, size_t size)
{
	size_t got = 0, skip = addr % sizeof(long), n;
	long word;

	while (got < size) {
		errno = 0;
		ow_delegate_enter();
		word = ptrace(PTRACE_PEEKDATA, mem->stopped,
			      (void *)(uintptr_t)(addr + got - skip), NULL);
		ow_delegate_leave();
		if (word == -1 && errno)
			break;
		n = sizeof(word) - skip;
		if (n > size - got)
			n = size - got;
		memcpy(buf + got, (uint8_t *)&word + skip, n);
		got += n;
		skip = 0;
	}
	return got;
}

static size_t read_piece(struct ow_processmem *mem, uint64_t addr, void *buf,
			 size_t size)
{
	size_t got;

	if (mem->how != OW_READING_PTRACE || !mem->stopped ||
	    size > MOST_PEEKED - mem->peeked)
		return read_by_file(mem, addr, buf, size);
	got = read_by_ptrace(mem, addr, buf, size);
	mem->peeked += got;
	return got;
}

size_t ow_processmem_read_hidden(struct ow_processmem *mem, uint64_t addr,
				 void *buf, size_t size)
{
	if (mem->how == OW_READING_VM)
		return read_by_file(mem, addr, buf, size);
	return read_piece(mem, addr, buf, size);
}

static int open_pagemap(pid_t pid)
{
	char path[32];

	snprintf(path, sizeof(path), "/proc/%d/pagemap", pid);
	return ow_reach_open(path, O_RDONLY);
}

/* What is told of nr pages from one on; return of how many it is. */
static size_t read_pagemap(int fd, uint64_t page, uint64_t *entries, size_t nr)
{
	ssize_t n = ow_reach_pread(fd, entries, nr * sizeof(entries[0]),
				   (off_t)(page * sizeof(entries[0])));

	return n < 0 ? 0 : (size_t)n / sizeof(entries[0]);
}

/* How many of nr pages from one on are there, up to the first one that isn't. */
static size_t present_pages(int fd, uint64_t page, size_t nr)
{
	uint64_t entries[PAGES_AT_ONCE];
	size_t i = 0;

	nr = read_pagemap(fd, page, entries, nr);
	while (i < nr && entries[i] & (PAGE_IS_IN_MEMORY | PAGE_IS_SWAPPED))
		i++;
	return i;
}

uint64_t ow_processmem_present(pid_t pid, uint64_t addr, uint64_t size)
{
	const uint64_t unit = (uint64_t)sysconf(_SC_PAGESIZE);
	_cleanup_(ow_closep) int fd = open_pagemap(pid);
	uint64_t page = addr / unit, end = (addr + size + unit - 1) / unit;
	size_t part, n;

	if (fd < 0 || size == 0)
		return 0;
	do {
		part = end - page < PAGES_AT_ONCE ? (size_t)(end - page) :
						    PAGES_AT_ONCE;
		n = present_pages(fd, page, part);
		page += n;
	} while (n == part && page < end);
	if (page * unit <= addr)
		return 0;
	return page * unit - addr < size ? page * unit - addr : size;
}

bool ow_processmem_is_uncopied(pid_t pid, uint64_t addr, size_t size)
{
	const uint64_t unit = (uint64_t)sysconf(_SC_PAGESIZE);
	_cleanup_(ow_closep) int fd = open_pagemap(pid);
	uint64_t entries[PAGES_AT_ONCE], page = addr / unit;
	size_t nr = (size_t)((addr + size + unit - 1) / unit - page), i;

	if (fd < 0 || nr > PAGES_AT_ONCE ||
	    read_pagemap(fd, page, entries, nr) < nr)
		return false;
	for (i = 0; i < nr; i++)
		if (~entries[i] & (PAGE_IS_IN_MEMORY | PAGE_IS_FILES))
			return false;
	return true;
}

/* process_vm_readv() of as many pieces, by a call that may be given up on. */
static ssize_t read_vm(const struct ow_processmem *mem,
		       const struct iovec *local, const struct iovec *remote,
		       size_t nr)
{
	ssize_t n;

	ow_delegate_enter();
	n = process_vm_readv(mem->pid, local, nr, remote, nr, 0);
	ow_delegate_leave();
	return n;
}

/* Is process_vm_readv() not to be had, so that the file has to do? */
static bool is_refused(int os_errno)
{
	return os_errno == ENOSYS || os_errno == EPERM;
}

size_t ow_processmem_read(struct ow_processmem *mem, uint64_t addr, void *buf,
			  size_t size)
{
	struct iovec local = { buf, size };
	struct iovec remote = { (void *)(uintptr_t)addr, size };
	ssize_t n;

	if (mem->how != OW_READING_VM)
		return read_piece(mem, addr, buf, size);
	n = read_vm(mem, &local, &remote, 1);
	if (n < 0 && is_refused(errno))
		return read_by_file(mem, addr, buf, size);
	return n > 0 ? (size_t)n : 0;
}

static size_t read_each(struct ow_processmem *mem, struct iovec *local,
			const struct iovec *remote, size_t nr)
{
	size_t i;

	for (i = 0; i < nr; i++)
		local[i].iov_len =
			read_piece(mem, (uint64_t)(uintptr_t)remote[i].iov_base,
				   local[i].iov_base, remote[i].iov_len);
	return nr;
}

size_t ow_processmem_readv(struct ow_processmem *mem, struct iovec *local,
			   const struct iovec *remote, size_t nr)
{
	ssize_t n;
	size_t i;

	if (mem->how != OW_READING_VM)
		return read_each(mem, local, remote, nr);
	n = read_vm(mem, local, remote, nr);
	if (n < 0 && is_refused(errno))
		return read_each(mem, local, remote, nr);
	if (n < 0)
		n = 0;
	for (i = 0; i < nr && (size_t)n >= remote[i].iov_len; i++)
		n -= (ssize_t)remote[i].iov_len;
	if (i == nr)
		return nr;
	local[i].iov_len = n; /* the call ends within the first it can't read */
	return i + 1;
}

/* A delegate's read, into memory that it may keep for ever. */
struct reading {
	struct ow_processmem mem;
	uint64_t addr;
	size_t size, got;
	uint8_t bytes[];
};

static void read_there(void *arg)
{
	struct reading *r = arg;

	r->got = ow_processmem_read(&r->mem, r->addr, r->bytes, r->size);
}

size_t ow_processmem_read_patiently(struct ow_processmem *mem,
				    struct ow_patience *patience, uint64_t addr,
				    void *buf, size_t size)
{
	const struct ow_delegate_limits limits = { .call_ns = PATIENCE_NS,
						   .until_ns = UINT64_MAX };
	enum ow_delegation end;
	struct reading *r;
	size_t got = 0;

	if (patience->pid == mem->pid || patience->nr_given_up >= MOST_GIVEN_UP)
		return 0;
	r = malloc(sizeof(*r) + size);
	if (!r)
		return 0;
	*r = (struct reading){ .mem = *mem, .addr = addr, .size = size };
	r->mem.fd = -1;
	end = ow_delegate_run(read_there, r, &limits, NULL);
	if (end == OW_DELEGATION_DONE) {
		got = r->got;
		memcpy(buf, r->bytes, got);
	} else if (end != OW_DELEGATION_NONE) {
		patience->pid = mem->pid;
		patience->nr_given_up++;
	}
	if (end != OW_DELEGATION_LOST)
		free(r);
	return got;
}
