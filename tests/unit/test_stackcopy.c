// SPDX-License-Identifier: BSD-2-Clause
#include "stackcopy.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <outwind/outwind.h>

#include "processmem.h"
#include "test.h"

#define GIB         ((uint64_t)1 << 30)
/* MAX_RW_COUNT, what one call copies at most (Linux, include/linux/fs.h). */
#define KERNEL_MOST ((size_t)INT_MAX & ~(size_t)0xfff)

/*
 * In libc's place: the real one, one that is not to be had, or that of a target
 * that has gigabytes, without any.  The latter's memory can be read up to an
 * address, and holds at each eight bytes their own address; of that only the
 * ends of each piece are written here.
 */
static struct {
	enum {
		REAL,
		REFUSED,
		VAST
	} kind;

	uint64_t readable_to;
	unsigned int calls;
} kernel;

static size_t run(struct ow_stackcopy *s)
{
	struct ow_processmem mem;
	size_t total;

	ow_processmem_open(&mem, getpid(), OW_READING_VM);
	total = ow_stackcopy_run(s, &mem);
	ow_processmem_close(&mem);
	return total;
}

static void mark(const struct iovec *local, const struct iovec *remote,
		 size_t size)
{
	uint64_t addr = (uintptr_t)remote->iov_base;
	uint8_t *at = local->iov_base;

	if (size < sizeof(addr))
		return;
	memcpy(at, &addr, sizeof(addr));
	addr += size - sizeof(addr);
	memcpy(at + size - sizeof(addr), &addr, sizeof(addr));
}

/* Pieces are alike on both sides, as ow_stackcopy_run() asks for them. */
static ssize_t read_vast(const struct iovec *local, const struct iovec *remote,
			 size_t nr)
{
	size_t room = KERNEL_MOST, total = 0, size, i;
	uint64_t start, want;

	for (i = 0; i < nr; i++) {
		CHECK(local[i].iov_len == remote[i].iov_len);
		start = (uintptr_t)remote[i].iov_base;
		want = local[i].iov_len < room ? local[i].iov_len : room;
		size = want;
		if (start + size > kernel.readable_to)
			size = start < kernel.readable_to ?
				       kernel.readable_to - start :
				       0;
		mark(&local[i], &remote[i], size);
		total += size;
		room -= size;
		if (size < want || room == 0)
			break;
	}
	if (total > 0 || nr == 0)
		return (ssize_t)total;
	errno = EFAULT;
	return -1;
}

ssize_t process_vm_readv(pid_t pid, const struct iovec *local,
			 unsigned long nr_local, const struct iovec *remote,
			 unsigned long nr_remote, unsigned long flags)
{
	kernel.calls++;
	if (kernel.kind == VAST)
		return read_vast(local, remote, nr_local);
	if (kernel.kind == REAL)
		return syscall(SYS_process_vm_readv, pid, local, nr_local,
			       remote, nr_remote, flags);
	errno = ENOSYS;
	return -1;
}

/* A piece of memory that is wanted, and how much of it is to be had. */
struct piece {
	uint64_t start, size, got;
};

/* Pages of our own: two that can be read, one that can't, two that can. */
static uint8_t *make_pages(size_t page)
{
	uint8_t *pages = mmap(NULL, 5 * page, PROT_READ | PROT_WRITE,
			      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int empty = memfd_create("empty", MFD_CLOEXEC);
	size_t i;

	if (pages == MAP_FAILED || empty < 0)
		abort();
	for (i = 0; i < 5 * page; i++)
		pages[i] = (uint8_t)(i * 7 + i / page);
	/* Behind a file's end: /proc/PID/mem has what mprotect() forbids. */
	if (mmap(pages + 2 * page, page, PROT_READ, MAP_PRIVATE | MAP_FIXED,
		 empty, 0) == MAP_FAILED)
		abort();
	close(empty);
	return pages;
}

static uint64_t ask(struct ow_stackcopy *s, const struct piece *p, size_t nr)
{
	uint64_t total = 0;
	size_t i;

	for (i = 0; i < nr; i++) {
		CHECK(ow_stackcopy_add(s, p[i].start, p[i].start + p[i].size) ==
		      (ssize_t)i);
		total += p[i].got;
	}
	return total;
}

/* Regions as wanted, with what our own memory has there. */
static void check_own(const struct ow_stackcopy *s, const struct piece *p,
		      size_t nr)
{
	const struct ow_region *r = s->regions;
	size_t i;

	CHECK(s->nr == nr);
	for (i = 0; i < nr; i++) {
		CHECK(r[i].start == p[i].start);
		CHECK(r[i].size == p[i].got);
		CHECK(memcmp(r[i].bytes, (const void *)(uintptr_t)p[i].start,
			     p[i].got) == 0);
	}
}

/* What pieces of which length are had of pages with a hole. */
static void run_own(void)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	uint8_t *pages = make_pages(page);
	uint64_t at = (uintptr_t)pages;
	const struct piece pieces[] = {
		{ at + 8, 2 * page - 8, 2 * page - 8 },
		{ at + page, 3 * page, page }, /* up to the hole */
		{ at + 2 * page, page, 0 },
		{ at + 2 * page + 8, 2 * page, 0 },
		{ at + 3 * page, 64, 64 }, /* all the same */
		{ at + 3 * page, 0, 0 },
		{ at + 4 * page, page, page },
	};
	const size_t nr = OW_ARRAY_SIZE(pieces);
	struct ow_stackcopy s = { 0 };
	uint64_t total = ask(&s, pieces, nr);

	CHECK(run(&s) == total);
	check_own(&s, pieces, nr);
	ow_stackcopy_free(&s);
	free(s.regions);
	munmap(pages, 5 * page);
}

static void test_own_memory(void)
{
	kernel.kind = REAL;
	kernel.calls = 0;
	run_own();
	/* All of it together; one for each piece that ends early; what is left. */
	CHECK(kernel.calls == 5);
}

static void test_by_file(void)
{
	kernel.kind = REFUSED;
	run_own();
}

static void test_more_than_a_call_takes(void)
{
	static uint8_t bytes[32 * (2 * IOV_MAX + 7)];
	const size_t nr = 2 * IOV_MAX + 7;
	struct piece *pieces = calloc(nr, sizeof(*pieces));
	struct ow_stackcopy s = { 0 };
	uint64_t total;
	size_t i;

	kernel.kind = REAL;
	kernel.calls = 0;
	for (i = 0; i < sizeof(bytes); i++)
		bytes[i] = (uint8_t)(i * 7 + i / 256);
	for (i = 0; i < nr; i++)
		pieces[i] = (struct piece){ (uintptr_t)bytes + 32 * i, 32, 32 };
	total = ask(&s, pieces, nr);
	CHECK(run(&s) == total);
	CHECK(kernel.calls == 3);
	check_own(&s, pieces, nr);
	ow_stackcopy_free(&s);
	free(s.regions);
	free(pieces);
}

/* In any order, what several pieces have is copied once. */
static void test_together(void)
{
	static uint8_t bytes[4096];
	const uint64_t at = (uintptr_t)bytes;
	const struct piece pieces[] = {
		{ at + 2000, 500, 500 }, { at + 100, 1000, 1000 },
		{ at + 2100, 100, 100 }, /* within the first one */
		{ at + 1100, 50, 50 },   /* right behind the second one */
		{ at + 900, 150, 150 },  { at + 2400, 200, 200 },
		{ at + 4000, 8, 8 },     { at + 2000, 500, 500 },
	};
	struct ow_stackcopy s = { 0 };
	size_t i;

	for (i = 0; i < sizeof(bytes); i++)
		bytes[i] = (uint8_t)(i * 7 + i / 256);
	kernel.kind = REAL;
	kernel.calls = 0;
	ask(&s, pieces, OW_ARRAY_SIZE(pieces));
	CHECK(run(&s) == 1050 + 600 + 8);
	CHECK(kernel.calls == 1);
	check_own(&s, pieces, OW_ARRAY_SIZE(pieces));
	ow_stackcopy_free(&s);
	free(s.regions);
}

/* Of what the first run copied, nothing moves or is copied again. */
static void test_second_run(void)
{
	static uint8_t bytes[] = "first and second";
	struct ow_stackcopy s = { 0 };
	uint64_t at = (uintptr_t)bytes;
	const uint8_t *first;

	kernel.kind = REAL;
	CHECK(ow_stackcopy_add(&s, at, at + 5) == 0);
	CHECK(run(&s) == 5);
	first = s.regions[0].bytes;
	memset(bytes, 'x', 5);
	CHECK(ow_stackcopy_add(&s, at + 10, at + 16) == 1);
	CHECK(run(&s) == 6);
	CHECK(s.regions[0].bytes == first && memcmp(first, "first", 5) == 0);
	CHECK(memcmp(s.regions[1].bytes, "second", 6) == 0);
	CHECK(run(&s) == 0);
	CHECK(s.regions[0].size == 5 && s.regions[1].size == 6);
	ow_stackcopy_free(&s);
	free(s.regions);
}

static bool holds_address(const struct ow_region *r, uint64_t off)
{
	uint64_t addr;

	memcpy(&addr, r->bytes + off, sizeof(addr));
	return addr == r->start + off;
}

/* Pieces of a target that has gigabytes. */
static void run_vast(const struct piece *p, size_t nr, uint64_t readable_to)
{
	struct ow_stackcopy s = { 0 };
	uint64_t total = ask(&s, p, nr);
	const struct ow_region *r;
	size_t i;

	kernel.kind = VAST;
	kernel.readable_to = readable_to;
	kernel.calls = 0;
	CHECK(run(&s) == total);
	for (i = 0, r = s.regions; i < nr; i++, r++) {
		CHECK(r->start == p[i].start && r->size == p[i].got);
		CHECK(r->size == 0 || holds_address(r, 0));
		CHECK(r->size == 0 || holds_address(r, r->size - 8));
	}
	ow_stackcopy_free(&s);
	free(s.regions);
}

static void test_gigabytes_together(void)
{
	static const struct piece pieces[] = {
		{ 10 * GIB, 900 << 20, 900 << 20 },
		{ 11 * GIB, 900 << 20, 900 << 20 },
		{ 12 * GIB, 900 << 20, 900 << 20 },
		{ 13 * GIB, 64, 64 },
		{ 14 * GIB, GIB, GIB },
	};

	run_vast(pieces, 5, 100 * GIB);
	/* None is cut off, and what fits goes together. */
	CHECK(kernel.calls == 4);
}

static void test_gigabytes_in_one(void)
{
	static const struct piece pieces[] = {
		{ 1 * GIB, 64, 64 },
		{ 10 * GIB, 5 * GIB / 2, 5 * GIB / 2 },
		{ 20 * GIB, GIB + 8, GIB + 8 },
		{ 30 * GIB, 64, 64 },
		{ 31 * GIB, 64, 64 },
	};
	static const struct piece cut_off[] = {
		{ 10 * GIB, 3 * GIB, GIB + 4096 },
		{ 1 * GIB, 64, 64 },
	};
	static const struct piece cut_between[] = {
		{ 10 * GIB, 3 * GIB, GIB },
		{ 11 * GIB, 3 * GIB, 0 },
		{ 1 * GIB, 64, 64 },
	};

	run_vast(pieces, 5, 100 * GIB);
	run_vast(cut_off, 2, 11 * GIB + 4096);
	run_vast(cut_between, 3, 11 * GIB);
}

/* Bytes of address space that we have. */
static uint64_t mapped(void)
{
	FILE *f = fopen("/proc/self/statm", "re");
	unsigned long pages = 0;

	if (!f || fscanf(f, "%lu", &pages) != 1)
		abort();
	fclose(f);
	return (uint64_t)pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

static void run_with_room(uint64_t room, const struct piece *p, size_t nr)
{
	struct rlimit old, small;

	if (getrlimit(RLIMIT_AS, &old))
		abort();
	small = old;
	small.rlim_cur = mapped() + room;
	if (setrlimit(RLIMIT_AS, &small))
		abort();
	run_vast(p, nr, 100 * GIB);
	if (setrlimit(RLIMIT_AS, &old))
		abort();
}

/* Where not all can be had, as little as possible is left out. */
static void test_no_room(void)
{
	static const struct piece pieces[] = {
		{ 10 * GIB, 1 << 20, 1 << 20 }, { 11 * GIB, 5 * GIB, 0 },
		{ 20 * GIB, 2 << 20, 2 << 20 }, { 21 * GIB, 3 * GIB, 0 },
		{ 30 * GIB, 64, 64 },
	};
	static const struct piece none[] = {
		{ 10 * GIB, 8 << 20, 0 },
		{ 11 * GIB, 5 * GIB, 0 },
	};

	run_with_room(GIB, pieces, 5);
	run_with_room(4 << 20, none, 2);
	CHECK(kernel.calls == 0);
}

/* What is huge is cut for what may be taken, and nothing else. */
static void test_more_than_may_be_taken(void)
{
	const size_t kept = (2 << 20) - 4096;
	const struct piece pieces[] = {
		{ 1 * GIB, 64, 64 },
		{ 10 * GIB, 2 * GIB, kept },
		{ 20 * GIB, 1 << 20, 1 << 20 },
	};
	struct ow_stackcopy s = { 0 };

	ow_memory_limit(16 << 20);
	run_vast(pieces, 3, 100 * GIB);
	ask(&s, pieces, 3);
	run(&s);
	CHECK(s.over.nr == 1 && s.over.list[0].start == 10 * GIB + kept &&
	      s.over.list[0].end == 12 * GIB);
	/* Something is left for a second run, as much as for the first one of it. */
	ow_stackcopy_add(&s, 40 * GIB, 50 * GIB);
	CHECK(run(&s) > 512 << 10 && s.regions[3].size < 1 << 20);
	ow_stackcopy_free(&s);
	free(s.regions);
	CHECK(s.held == 0);
	/* All is given back. */
	run_vast(pieces, 3, 100 * GIB);
	ow_memory_limit(UINT64_MAX);
}

/* What many share is copied once, but may be looked through for each: that is bounded. */
static void test_more_than_may_be_shared(void)
{
	enum {
		NR = 64
	};
	struct ow_stackcopy s = { 0 };
	uint64_t seen = 0;
	size_t i;

	kernel.kind = VAST;
	kernel.readable_to = 100 * GIB;
	ow_memory_limit(16 << 20);
	for (i = 0; i < NR; i++)
		ow_stackcopy_add(&s, 10 * GIB + 64 * i, 10 * GIB + (2 << 20));
	CHECK(run(&s) > 0);
	for (i = 0; i < NR; i++)
		seen += s.regions[i].size;
	CHECK(seen > 28 << 20 && seen <= 32 << 20 && s.over.nr > 0);
	ow_stackcopy_free(&s);
	free(s.regions);
	ow_memory_limit(UINT64_MAX);
}

/* Each of many small stacks has something. */
static void test_less_than_a_page_of_each(void)
{
	enum {
		NR = 100
	};
	struct ow_stackcopy s = { 0 };
	size_t i;

	kernel.kind = VAST;
	kernel.readable_to = 100 * GIB;
	ow_memory_limit(1 << 20);
	for (i = 0; i < NR; i++)
		ow_stackcopy_add(&s, (i + 1) << 20, ((i + 1) << 20) + 4000);
	CHECK(run(&s) > 190 << 10);
	for (i = 0; i < NR; i++)
		CHECK(s.regions[i].size > 1900 && s.regions[i].size < 2000);
	ow_stackcopy_free(&s);
	free(s.regions);
	ow_memory_limit(UINT64_MAX);
}

/* What is made ready before it is needed is no reason to fail. */
static void test_more_than_may_be_ready(void)
{
	struct ow_stackcopy s = { 0 };

	ow_memory_limit(4 << 10);
	CHECK(ow_stackcopy_reserve(&s, 4, 1 << 20));
	CHECK(s.held == 1 << 10);
	ow_stackcopy_free(&s);
	free(s.regions);
	CHECK(s.held == 0);
	ow_memory_limit(UINT64_MAX);
}

int main(void)
{
	static const struct test tests[] = {
		{ "pieces of memory with a hole", test_own_memory },
		{ "the same from /proc/PID/mem", test_by_file },
		{ "more than a call takes", test_more_than_a_call_takes },
		{ "pieces that lie over each other", test_together },
		{ "a second run", test_second_run },
		{ "gigabytes together", test_gigabytes_together },
		{ "gigabytes in one piece", test_gigabytes_in_one },
		{ "no room for all", test_no_room },
		{ "more than may be taken", test_more_than_may_be_taken },
		{ "less than a page of each", test_less_than_a_page_of_each },
		{ "more than may be shared", test_more_than_may_be_shared },
		{ "more than may be ready", test_more_than_may_be_ready },
	};

	ow_memory_limit(UINT64_MAX);
	return test_main(tests, OW_ARRAY_SIZE(tests));
}
