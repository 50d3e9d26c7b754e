/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A hypervisor with one guest, behind the seam of targets/xenseam.h: its memory
 * is an array of frames, in which a test makes page tables and stacks, and every
 * call may be told to fail.
 */
#ifndef OW_TEST_FAKEXEN_H
#define OW_TEST_FAKEXEN_H

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "xenseam.h"

#define FAKE_FRAMES 512
#define FAKE_VCPUS  4
#define FAKE_FIRST  0x1000 /* the number of the first frame */

enum fake_call {
	FAKE_INFO,
	FAKE_RUN,
	FAKE_VCPU,
	FAKE_PAUSE,
	FAKE_UNPAUSE,
	FAKE_MAP,
	FAKE_NR_CALLS
};

struct fake_xen {
	struct ow_xen_seam seam; /* first: calls cast back */
	struct ow_xen_info info;
	struct ow_xen_run run[FAKE_VCPUS];
	struct ow_xen_vcpu vcpu[FAKE_VCPUS];
	int vcpu_err[FAKE_VCPUS];
	int fd;                         /* of a file that is the memory */
	uint8_t (*memory)[OW_XEN_PAGE]; /* FAKE_FRAMES of them */
	unsigned int nr_frames;
	int *shown; /* where others see the pauses, or NULL */
	int pauses; /* that are in effect */
	int most_pauses;
	unsigned int calls[FAKE_NR_CALLS];
	unsigned int nr_mapped, nr_regions; /* pages, and runs, not unmapped */
	unsigned int bad_frame;             /* can't be mapped; 0: none */
	/* Of all calls together, the one of that number fails. */
	unsigned int total, fail_at;
	int fail_errno;
	bool is_gone; /* all calls say ESRCH */
	bool is_closed;
	/* Called at each call, or NULL. */
	void (*watch)(struct fake_xen *f, enum fake_call call);
};

static inline int fake_enter(struct fake_xen *f, enum fake_call call)
{
	f->calls[call]++;
	if (f->watch)
		f->watch(f, call);
	if (++f->total == f->fail_at)
		return -f->fail_errno;
	return f->is_gone ? -ESRCH : 0;
}

static inline void fake_close(struct ow_xen_seam *s)
{
	struct fake_xen *f = (struct fake_xen *)s;

	f->is_closed = true;
	munmap(f->memory, FAKE_FRAMES * OW_XEN_PAGE);
	close(f->fd);
}

static inline int fake_info(struct ow_xen_seam *s, struct ow_xen_info *ret)
{
	struct fake_xen *f = (struct fake_xen *)s;
	int err = fake_enter(f, FAKE_INFO);

	if (err)
		return err;
	*ret = f->info;
	ret->is_paused = f->pauses > 0;
	return 0;
}

static inline int fake_run(struct ow_xen_seam *s, uint32_t vcpu,
			   struct ow_xen_run *ret)
{
	struct fake_xen *f = (struct fake_xen *)s;
	int err = fake_enter(f, FAKE_RUN);

	*ret = f->run[vcpu];
	return err;
}

static inline int fake_vcpu(struct ow_xen_seam *s,
			    const struct ow_xen_info *info, uint32_t vcpu,
			    struct ow_xen_vcpu *ret)
{
	struct fake_xen *f = (struct fake_xen *)s;
	int err = fake_enter(f, FAKE_VCPU);

	(void)info;
	if (err || f->vcpu_err[vcpu])
		return err ? err : f->vcpu_err[vcpu];
	*ret = f->vcpu[vcpu];
	return 0;
}

static inline int fake_pause(struct ow_xen_seam *s)
{
	struct fake_xen *f = (struct fake_xen *)s;
	int err = fake_enter(f, FAKE_PAUSE);

	if (err)
		return err;
	if (++f->pauses > f->most_pauses)
		f->most_pauses = f->pauses;
	if (f->shown)
		*f->shown = f->pauses;
	return 0;
}

static inline int fake_unpause(struct ow_xen_seam *s)
{
	struct fake_xen *f = (struct fake_xen *)s;
	int err = fake_enter(f, FAKE_UNPAUSE);

	if (err)
		return err;
	if (f->pauses == 0)
		return -EINVAL;
	f->pauses--;
	if (f->shown)
		*f->shown = f->pauses;
	return 0;
}

/* Each page is the guest's own memory; what is not there would trap. */
static inline const uint8_t *
fake_map(struct ow_xen_seam *s, const uint64_t *frames, size_t nr, int *errors)
{
	struct fake_xen *f = (struct fake_xen *)s;
	int err = fake_enter(f, FAKE_MAP);
	uint64_t at;
	uint8_t *to;
	size_t i;

	if (err) {
		errno = -err;
		return NULL;
	}
	to = mmap(NULL, nr * OW_XEN_PAGE, PROT_NONE,
		  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	for (i = 0; i < nr; i++) {
		at = frames[i] - FAKE_FIRST;
		errors[i] = EINVAL;
		if (at >= f->nr_frames || frames[i] == f->bad_frame)
			continue;
		errors[i] = 0;
		mmap(to + i * OW_XEN_PAGE, OW_XEN_PAGE, PROT_READ,
		     MAP_SHARED | MAP_FIXED, f->fd, (off_t)at * OW_XEN_PAGE);
	}
	f->nr_mapped += nr;
	f->nr_regions++;
	return to;
}

static inline void fake_unmap(struct ow_xen_seam *s, const uint8_t *at,
			      size_t nr)
{
	struct fake_xen *f = (struct fake_xen *)s;

	f->nr_mapped -= nr;
	f->nr_regions--;
	munmap((void *)at, nr * OW_XEN_PAGE);
}

static const struct ow_xen_ops fake_ops = {
	.name = "libxencall",
	.close = fake_close,
	.info = fake_info,
	.run = fake_run,
	.vcpu = fake_vcpu,
	.pause = fake_pause,
	.unpause = fake_unpause,
	.map = fake_map,
	.unmap = fake_unmap,
};

/* A guest without memory in use, of that many vCPUs, all of them up. */
static inline void fake_begin(struct fake_xen *f, uint32_t nr_vcpus)
{
	uint32_t i;

	memset(f, 0, sizeof(*f));
	f->seam = (struct ow_xen_seam){ .ops = &fake_ops, .domid = 7 };
	f->info = (struct ow_xen_info){ .domid = 7,
					.word = 8,
					.nr_vcpus = nr_vcpus,
					.pages = FAKE_FRAMES };
	f->fd = memfd_create("guest", MFD_CLOEXEC);
	if (f->fd < 0 || ftruncate(f->fd, FAKE_FRAMES * OW_XEN_PAGE))
		abort();
	f->memory = mmap(NULL, FAKE_FRAMES * OW_XEN_PAGE,
			 PROT_READ | PROT_WRITE, MAP_SHARED, f->fd, 0);
	for (i = 0; i < nr_vcpus; i++) {
		f->run[i] = (struct ow_xen_run){ .online = true };
		f->vcpu[i].arch = &ow_arch_x86_64;
		f->vcpu[i].regs.known = ((uint64_t)1 << 17) - 1;
	}
}

/* A frame more; its physical address. */
static inline uint64_t fake_frame(struct fake_xen *f)
{
	return ((uint64_t)FAKE_FIRST + f->nr_frames++) * OW_XEN_PAGE;
}

static inline uint8_t *fake_at(struct fake_xen *f, uint64_t physical)
{
	return f->memory[physical / OW_XEN_PAGE - FAKE_FIRST] +
	       physical % OW_XEN_PAGE;
}

static inline uint64_t fake_entry(struct fake_xen *f, uint64_t table,
				  unsigned int index)
{
	uint64_t entry;

	memcpy(&entry, fake_at(f, table + 8 * index), 8);
	return entry;
}

static inline void fake_set(struct fake_xen *f, uint64_t table,
			    unsigned int index, uint64_t entry)
{
	memcpy(fake_at(f, table + 8 * index), &entry, 8);
}

/* Map a page of the guest by tables of x86-64, making those that lack. */
static inline void fake_map_page(struct fake_xen *f, uint64_t root,
				 uint64_t addr, uint64_t physical)
{
	unsigned int level, index;
	uint64_t table = root, entry;

	for (level = 3; level > 0; level--) {
		index = addr >> (12 + 9 * level) & 511;
		entry = fake_entry(f, table, index);
		if (!(entry & 1)) {
			entry = fake_frame(f) | 0x67;
			fake_set(f, table, index, entry);
		}
		table = entry & 0x000ffffffffff000;
	}
	fake_set(f, table, addr >> 12 & 511, physical | 0x67);
}

/* Paging of x86-64 for all vCPUs, whose root is returned. */
static inline uint64_t fake_make_tables(struct fake_xen *f)
{
	uint64_t root = fake_frame(f);
	uint32_t i;

	for (i = 0; i < FAKE_VCPUS; i++)
		f->vcpu[i].paging =
			ow_paging_x86(0x80000000, root, 0x20, 0x400);
	return root;
}

/* Store a word of the guest, at an address whose page was mapped. */
static inline void fake_poke(struct fake_xen *f, uint64_t root, uint64_t addr,
			     uint64_t value)
{
	unsigned int level = 4;
	uint64_t table = root;

	while (level-- > 0)
		table = fake_entry(f, table, addr >> (12 + 9 * level) & 511) &
			0x000ffffffffff000;
	memcpy(fake_at(f, table + addr % OW_XEN_PAGE), &value, 8);
}

/*
 * A chain of nr frame records on a stack of that many pages that ends at top;
 * return addresses are pc + 0x100, + 0x200 and so on, each record is "each"
 * bytes above the last.  The registers of the vCPU are at its innermost one.
 */
static inline void fake_chain(struct fake_xen *f, uint32_t vcpu, uint64_t root,
			      uint64_t top, unsigned int pages, uint64_t pc,
			      unsigned int nr, unsigned int each)
{
	uint64_t fp = top - (uint64_t)nr * each, *val = f->vcpu[vcpu].regs.val;
	unsigned int i;

	for (i = 0; i < pages; i++)
		fake_map_page(f, root, top - (i + 1) * OW_XEN_PAGE,
			      fake_frame(f));
	val[ow_arch_x86_64.pc] = pc;
	val[ow_arch_x86_64.fp] = fp;
	val[ow_arch_x86_64.sp] = fp - 16;
	for (i = 1; i <= nr; i++, fp += each) {
		fake_poke(f, root, fp, i < nr ? fp + each : 0);
		fake_poke(f, root, fp + 8, pc + i * 0x100);
	}
}

#endif /* OW_TEST_FAKEXEN_H */
