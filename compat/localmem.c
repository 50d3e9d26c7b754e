// SPDX-License-Identifier: BSD-2-Clause
#include "localmem.h"

#include <errno.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "err.h"

#define REGION_BITS  18 /* 64 pages, one bit each */
#define REGION_PAGES 64
#define NR_REGIONS   512

/*
 * The readable pages of a region.  Written by any thread and by signal handlers
 * at any time: check is made of both, so that halves of two writes don't match.
 */
struct known {
	uint64_t check, pages;
};

static struct known known[NR_REGIONS];

static uint64_t mix(uint64_t pages)
{
	return pages * 0x9e3779b97f4a7c15ULL + 1;
}

static struct known *slot_of(uint64_t region)
{
	return &known[(region ^ region >> 9) & (NR_REGIONS - 1)];
}

static uint64_t pages_of(uint64_t region)
{
	struct known *k = slot_of(region);
	uint64_t check = __atomic_load_n(&k->check, __ATOMIC_RELAXED);
	uint64_t pages = __atomic_load_n(&k->pages, __ATOMIC_RELAXED);

	return check == (region ^ mix(pages)) ? pages : 0;
}

static void remember(uint64_t region, uint64_t pages)
{
	struct known *k = slot_of(region);

	__atomic_store_n(&k->check, region ^ mix(pages), __ATOMIC_RELAXED);
	__atomic_store_n(&k->pages, pages, __ATOMIC_RELAXED);
}

/*
 * rt_sigprocmask() reads the new set before it looks at how to use it, which is
 * nonsense here: EINVAL says that it could be read (Linux, kernel/signal.c).
 */
static bool probe(uint64_t addr)
{
	int saved = errno;
	long err;
	bool readable;

	/* It takes a null pointer for none at all, and nothing lies there. */
	if (addr == 0)
		return false;
	err = syscall(SYS_rt_sigprocmask, ~0, (void *)(uintptr_t)addr, NULL, 8);
	readable = err == -1 && errno == EINVAL;
	errno = saved;
	return readable;
}

/* The readable pages of the region, page n (asked for now) among them, or 0. */
static uint64_t pages_with(uint64_t region, unsigned int n)
{
	uint64_t pages = pages_of(region);

	if (pages >> n & 1)
		return pages;
	if (!probe((region << REGION_BITS) + n * (uint64_t)OW_LOCAL_PAGE))
		return 0;
	pages |= (uint64_t)1 << n;
	remember(region, pages);
	return pages;
}

struct ow_extent ow_local_extent(uint64_t addr)
{
	uint64_t region = addr >> REGION_BITS;
	uint64_t base = region << REGION_BITS;
	unsigned int n = (addr - base) / OW_LOCAL_PAGE;
	uint64_t pages = pages_with(region, n);
	unsigned int low = n, high = n + 1;

	if (!pages)
		return (struct ow_extent){ addr, addr };
	while (low > 0 && pages >> (low - 1) & 1)
		low--;
	while (high < REGION_PAGES && pages >> high & 1)
		high++;
	return (struct ow_extent){ base + low * (uint64_t)OW_LOCAL_PAGE,
				   base + high * (uint64_t)OW_LOCAL_PAGE };
}

bool ow_local_stretch(struct ow_extent *e, uint64_t end)
{
	struct ow_extent more;

	if (end <= e->end)
		return true;
	if (end - e->end > OW_LOCAL_STRETCH)
		return false;
	while (e->end < end) {
		more = ow_local_extent(e->end);
		if (more.end <= e->end)
			return false;
		e->end = more.end;
	}
	return true;
}

bool ow_local_readable(uint64_t addr, uint64_t size)
{
	struct ow_extent e = ow_local_extent(addr);

	return e.end > addr && addr + size >= addr &&
	       ow_local_stretch(&e, addr + size);
}

void ow_local_recheck(uint64_t addr)
{
	uint64_t region = addr >> REGION_BITS;
	unsigned int n = addr / OW_LOCAL_PAGE % REGION_PAGES;
	uint64_t pages = pages_of(region), page = (uint64_t)1 << n;

	if (pages & page && !probe(addr & ~(uint64_t)(OW_LOCAL_PAGE - 1)))
		remember(region, pages & ~page);
}

static int read_local(const struct ow_memory *mem, uint64_t addr, void *buf,
		      size_t size)
{
	(void)mem;
	if (!ow_local_readable(addr, size))
		return -OW_EFAULT;
	memcpy(buf, (const void *)(uintptr_t)addr, size);
	return 0;
}

const struct ow_memory ow_local_memory = { read_local };
