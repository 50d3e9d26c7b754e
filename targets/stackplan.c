// SPDX-License-Identifier: BSD-2-Clause
#include "stackplan.h"

#include <string.h>

#include "arch.h"
#include "mappings.h"
#include "monotonic.h"
#include "processmem.h"
#include "stackcopy.h"

#define RED_ZONE          128         /* x86-64 psABI 3.2.2 */
#define UNKNOWN_BASE_SIZE (256 << 10) /* copied, unless asked for, of no base */
#define START_SIZE        64 /* of the arguments' count and first pointers */
#define GROWN_SIZE        (8 << 20)  /* of a main stack meanwhile, at most */
#define OVERFLOW_SIZE     (64 << 10) /* how far below a stack sp may have gone */
#define HIDDEN_SIZE       (1 << 20) /* of a stack that may not be read, at most */
#define HANDLER_SIZE      (64 << 10) /* of a handler's frames, looked through */
#define PAGE_MASK         0xfffULL   /* the smallest page of any target */

static bool is_main_stack(const struct ow_mapping *m)
{
	return strcmp(m->path, "[stack]") == 0;
}

/* What is copied of a stack whose base isn't known. */
static uint64_t unknown_size(const struct ow_stackplan *p)
{
	return p->limit ? p->limit : UNKNOWN_BASE_SIZE;
}

/* The end of what is worth copying of the stack in mapping m from sp up. */
static uint64_t copy_end(const struct ow_stackplan *p,
			 const struct ow_mapping *m, uint64_t sp, uint64_t tp)
{
	uint64_t end = m->end;
	uint64_t unknown = unknown_size(p);

	/* glibc and musl put a thread's descriptor at its stack's base. */
	if (tp > sp && tp < m->end)
		end = tp;
	else if (p->main_start > sp && p->main_start + START_SIZE < m->end)
		end = p->main_start + START_SIZE;
	else if (!is_main_stack(m) && end - sp > unknown)
		end = sp + unknown;
	if (p->limit && end - sp > p->limit)
		end = sp + p->limit;
	return end;
}

/* The mapping whose upper part is the stack at sp, or NULL. */
static const struct ow_mapping *stack_of(struct ow_mappings *maps, uint64_t sp)
{
	const struct ow_mapping *m = ow_mappings_from(maps, sp);
	uint64_t end;

	/* After an overflow sp is in the guard below the stack. */
	if (m && !m->readable) {
		end = m->end;
		m = ow_mappings_from(maps, end);
		if (m && m->start != end)
			return NULL;
	}
	return m && m->readable ? m : NULL;
}

/* [stack] may have grown since the maps were read. */
static bool has_grown(const struct ow_mapping *m, uint64_t sp)
{
	return is_main_stack(m) && sp < m->start && m->start - sp <= GROWN_SIZE;
}

/* A process that shares the memory can have each question about it wait. */
static bool is_late(const struct ow_stackplan *p)
{
	return p->until_ns && ow_now_ns() >= p->until_ns;
}

/* Ask for a part of the stack, with care if a file's server has it, or may. */
static ssize_t add_region(const struct ow_stackplan *p, uint64_t start,
			  uint64_t end)
{
	if (!p->copy->is_careful &&
	    (is_late(p) || !ow_mappings_is_plain(p->maps, start, end)))
		p->copy->is_careful = true;
	return ow_stackcopy_add(p->copy, start, end);
}

/*
 * What is new and what was there before apart: where sp has moved and nothing
 * was written there yet, what is new can't be read.
 */
static ssize_t add_grown(const struct ow_stackplan *p,
			 const struct ow_mapping *m, uint64_t sp, uint64_t end)
{
	uint64_t start = sp & ~PAGE_MASK;
	const uint64_t old = m->start; /* m may move as another is asked for */
	bool is_old_wanted = end > old;
	ssize_t region;

	if (sp - start > RED_ZONE)
		start = sp - RED_ZONE;
	region = add_region(p, start, is_old_wanted ? old : end);
	return is_old_wanted ? add_region(p, old, end) : region;
}

/*
 * The part that is there, from sp up, of a stack which its process may not read now, as
 * some programs protect the stacks of coroutines; or -1.  What is above may be readable.
 */
static ssize_t add_hidden(struct ow_stackplan *p, uint64_t sp, uint64_t tp)
{
	const struct ow_mapping *m = ow_mappings_from(p->maps, sp);
	uint64_t start, end, size;
	ssize_t region;

	if (!p->pid || (m && (m->readable || sp < m->start)))
		return -1;
	if (is_late(p)) {
		p->nr_unasked++;
		return -1;
	}
	if (!m)
		return -1;
	start = sp & ~PAGE_MASK;
	if (sp - start > RED_ZONE)
		start = sp - RED_ZONE;
	end = copy_end(p, m, sp, tp);
	/* The base may be anywhere, as its process says, and each page is asked for. */
	if (end - start > HIDDEN_SIZE)
		end = start + HIDDEN_SIZE;
	size = ow_processmem_present(p->pid, start, end - start);
	if (size <= sp - start ||
	    !ow_mappings_is_plain(p->maps, start, start + size))
		return -1;
	region = ow_stackcopy_add(p->copy, start, start + size);
	if (region >= 0)
		p->copy->regions[region].is_hidden = true;
	return region;
}

static ssize_t add_readable(const struct ow_stackplan *p, uint64_t sp,
			    uint64_t tp)
{
	const struct ow_mapping *m = stack_of(p->maps, sp);
	uint64_t start = sp < RED_ZONE ? 0 : sp - RED_ZONE;

	if (!m)
		return -1;
	if (has_grown(m, sp))
		return add_grown(p, m, sp, copy_end(p, m, sp, tp));
	if (start < m->start)
		start = m->start;
	return add_region(p, start,
			  copy_end(p, m, sp > start ? sp : start, tp));
}

ssize_t ow_stackplan_add(struct ow_stackplan *p, uint64_t sp, uint64_t tp)
{
	ssize_t hidden = add_hidden(p, sp, tp), readable;

	readable = add_readable(p, sp, tp);
	return hidden >= 0 ? hidden : readable;
}

/* Where a thread runs when it isn't on a stack of its own making, or NULL. */
static const struct ow_mapping *home_of(const struct ow_stackplan *p,
					bool is_leader, uint64_t tp)
{
	uint64_t addr = is_leader ? p->main_start : tp;
	const struct ow_mapping *m;

	m = addr ? ow_mappings_from(p->maps, addr) : NULL;
	if (!m || addr < m->start || !m->writable)
		return NULL;
	return !is_leader || is_main_stack(m) ? m : NULL;
}

/* The word there, of so many bytes; 0 where the region ends before. */
static uint64_t word_at(const struct ow_region *r, size_t word, size_t off)
{
	uint64_t value = 0;

	if (off > r->size || r->size - off < word)
		return 0;
	if (word == sizeof(value)) /* without a call: it is for each word */
		memcpy(&value, r->bytes + off, sizeof(value));
	else
		memcpy(&value, r->bytes + off, word);
	return value;
}

/*
 * The lowest address of the home stack that the region's words hold, or 0; of as many
 * as are copied where no base is known.
 */
static uint64_t lowest_pointer(const struct ow_stackplan *p,
			       const struct ow_region *r, size_t word,
			       const struct ow_mapping *home)
{
	uint64_t lowest = UINT64_MAX, most = unknown_size(p), addr;
	size_t off, end = r->size < most ? r->size : (size_t)most;

	for (off = 0; off + word <= end; off += word) {
		addr = word_at(r, word, off);
		/* sp may be below, if the stack has overflowed. */
		if (addr >= home->start - OVERFLOW_SIZE && addr < home->end &&
		    addr < lowest)
			lowest = addr;
	}
	return lowest == UINT64_MAX ? 0 : lowest;
}

/*
 * Where sp was before the signal, if a frame of that layout stands there and the
 * handler runs elsewhere; else 0.
 */
static uint64_t interrupted_sp(const struct ow_stackplan *p,
			       const struct ow_region *r,
			       const struct ow_arch *arch,
			       const struct ow_sigframe *sf, size_t off)
{
	const struct ow_mapping *m;
	uint64_t sp;

	if (!sf->mark_bits ||
	    (word_at(r, arch->word, off + (size_t)sf->mark_off) &
	     sf->mark_bits) != sf->mark)
		return 0;
	sp = word_at(r, arch->word, off + (size_t)sf->sp_off);
	if (sp == 0 || sp - r->start < r->size)
		return 0;
	m = stack_of(p->maps, sp);
	return m && m->writable ? sp : 0;
}

/* The same of the first signal frame in the region. */
static uint64_t first_interrupted(const struct ow_stackplan *p,
				  const struct ow_region *r,
				  const struct ow_arch *arch)
{
	size_t off, end = r->size < HANDLER_SIZE ? r->size : HANDLER_SIZE;
	uint64_t sp;
	uint8_t i;

	for (off = 0; off < end; off += arch->word) {
		for (i = 0; i < arch->nr_sigframes; i++) {
			sp = interrupted_sp(p, r, arch, &arch->sigframes[i],
					    off);
			if (sp)
				return sp;
		}
	}
	return 0;
}

static bool is_in(const struct ow_mapping *m, uint64_t addr)
{
	return m && addr + RED_ZONE >= m->start && addr < m->end;
}

/* ow_stackplan_add_home(), of home alone. */
static void add_home(const struct ow_stackplan *p, const struct ow_region *r,
		     size_t word, const struct ow_mapping *home, uint64_t tp)
{
	uint64_t start = lowest_pointer(p, r, word, home);

	if (start == 0)
		return;
	start = start > home->start + RED_ZONE ? start - RED_ZONE : home->start;
	add_region(p, start, copy_end(p, home, start, tp));
}

void ow_stackplan_add_home(struct ow_stackplan *p, size_t region,
			   const struct ow_arch *arch, bool is_leader,
			   uint64_t tp)
{
	const struct ow_mapping *home = home_of(p, is_leader, tp);
	/* Where regions are may change as one is added. */
	const struct ow_region r = p->copy->regions[region];
	uint64_t sp;

	if (is_in(home, r.start))
		return;
	if (home)
		add_home(p, &r, arch->word, home, tp);
	/* Where home is may change as well, as mappings are asked for. */
	sp = first_interrupted(p, &r, arch);
	home = home_of(p, is_leader, tp);
	if (sp && !is_in(home, sp))
		ow_stackplan_add(p, sp, tp);
}
