// SPDX-License-Identifier: BSD-2-Clause
#include "stackcopy.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

#include "error.h"

#define MOST_AT_ONCE ((size_t)1 << 30)

ssize_t ow_stackcopy_add(struct ow_stackcopy *s, uint64_t start, uint64_t end)
{
	size_t room = s->room ? 2 * s->room : 64;
	struct ow_region *more;

	if (s->nr == s->room) {
		more = realloc(s->regions, room * sizeof(*more));
		if (!more)
			return -1;
		s->regions = more;
		s->room = room;
	}
	s->regions[s->nr] = (struct ow_region){ start, end - start, NULL };
	return (ssize_t)s->nr++;
}

/* /proc/PID/mem, where process_vm_readv() is not to be had. */
static size_t read_mem_file(pid_t pid, uint64_t addr, uint8_t *buf, size_t size)
{
	char path[32];
	_cleanup_(ow_closep) int fd = -1;
	size_t got = 0;
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/%d/mem", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	while (fd >= 0 && got < size) {
		n = pread(fd, buf + got, size - got, (off_t)(addr + got));
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			break;
		got += n;
	}
	return got;
}

size_t ow_process_read(pid_t pid, uint64_t addr, void *buf, size_t size)
{
	struct iovec local = { buf, size };
	struct iovec remote = { (void *)(uintptr_t)addr, size };
	ssize_t n = process_vm_readv(pid, &local, 1, &remote, 1, 0);

	if (n < 0 && (errno == ENOSYS || errno == EPERM))
		return read_mem_file(pid, addr, buf, size);
	return n > 0 ? (size_t)n : 0;
}

/*
 * Copy regions [first, first + nr) by one call, as far as it goes; return how
 * many regions are settled, or -1 if the call is not to be had.
 */
static ssize_t copy_some(struct ow_stackcopy *s, pid_t pid, size_t first,
			 size_t nr)
{
	struct iovec local[IOV_MAX], remote[IOV_MAX];
	struct ow_region *r = s->regions + first;
	size_t i;
	ssize_t n;

	for (i = 0; i == 0 || i < nr; i++) {
		local[i] = (struct iovec){ (void *)r[i].bytes, r[i].size };
		remote[i] = (struct iovec){ (void *)(uintptr_t)r[i].start,
					    r[i].size };
	}
	n = process_vm_readv(pid, local, nr, remote, nr, 0);
	if (n < 0 && errno != EFAULT)
		return -1;
	if (n < 0)
		n = 0;
	for (i = 0; i < nr && (size_t)n >= r[i].size; i++)
		n -= r[i].size;
	if (i == nr)
		return (ssize_t)nr;
	r[i].size = n; /* the call ends within the first that it can't read */
	return (ssize_t)i + 1;
}

/* Regions from i on that one call can copy; the kernel's limit is 2 GiB. */
static size_t batch_from(const struct ow_stackcopy *s, size_t i)
{
	size_t nr = 0, total = 0;

	while (nr < IOV_MAX && i + nr < s->nr) {
		total += s->regions[i + nr].size;
		if (nr > 0 && total > MOST_AT_ONCE)
			break;
		nr++;
	}
	return nr;
}

static ssize_t copy_huge(struct ow_stackcopy *s, pid_t pid, size_t i)
{
	struct ow_region *r = &s->regions[i];
	size_t got = 0, part, n;

	do {
		part = r->size - got < MOST_AT_ONCE ? r->size - got :
						      MOST_AT_ONCE;
		n = ow_process_read(pid, r->start + got,
				    (uint8_t *)r->bytes + got, part);
		got += n;
	} while (n == part && got < r->size);
	r->size = got;
	return 1;
}

static void copy_each_by_file(struct ow_stackcopy *s, pid_t pid, size_t first)
{
	struct ow_region *r = s->regions;
	size_t i;

	for (i = first; i < s->nr; i++)
		r[i].size = read_mem_file(pid, r[i].start,
					  (uint8_t *)r[i].bytes, r[i].size);
}

static void drop_largest(struct ow_stackcopy *s)
{
	size_t i, largest = s->done;

	for (i = s->done; i < s->nr; i++)
		if (s->regions[i].size > s->regions[largest].size)
			largest = i;
	s->regions[largest].size = 0;
}

/* Room for all regions that have none, or for all but those that are too big. */
static bool place(struct ow_stackcopy *s)
{
	size_t size, i;
	uint8_t *bytes;

	for (;; drop_largest(s)) {
		for (size = 0, i = s->done; i < s->nr; i++)
			size += s->regions[i].size;
		if (size == 0 || s->runs == 2)
			return false;
		bytes = mmap(NULL, size, PROT_READ | PROT_WRITE,
			     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1,
			     0);
		if (bytes != MAP_FAILED)
			break;
	}
	s->buffer[s->runs].bytes = bytes;
	s->buffer[s->runs++].size = size;
	for (i = s->done; i < s->nr; i++) {
		s->regions[i].bytes = bytes;
		bytes += s->regions[i].size;
	}
	return true;
}

size_t ow_stackcopy_run(struct ow_stackcopy *s, pid_t pid)
{
	size_t i, first = s->done, total = 0;
	ssize_t n;

	if (!place(s)) {
		for (i = first; i < s->nr; i++)
			s->regions[i].size = 0;
		s->done = s->nr;
		return 0;
	}
	for (i = first; i < s->nr; i += n) {
		n = s->regions[i].size > MOST_AT_ONCE ?
			    copy_huge(s, pid, i) :
			    copy_some(s, pid, i, batch_from(s, i));
		if (n < 0) {
			copy_each_by_file(s, pid, i);
			break;
		}
	}
	for (i = first; i < s->nr; i++)
		total += s->regions[i].size;
	s->done = s->nr;
	return total;
}

void ow_stackcopy_free(struct ow_stackcopy *s)
{
	unsigned int i;

	for (i = 0; i < s->runs; i++)
		munmap(s->buffer[i].bytes, s->buffer[i].size);
	s->runs = 0;
}
