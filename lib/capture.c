// SPDX-License-Identifier: BSD-2-Clause
#include "capture.h"

#include <search.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "budget.h"
#include "cfiwork.h"
#include "error.h"
#include "filemap.h"
#include "identity.h"
#include "syscalls.h"

#define PAGE_SIZE 4096 /* or more; touching more often does no harm */

/* Pairs of rows in the cache: few at first, as each page of it costs a fault. */
#define FIRST_PAIRS 128
#define MOST_PAIRS  2048

#define MOST_OPENED \
	4096 /* files of a process; a program has a thousand at most */

/*
 * Zeroed memory whose pages are there already, so that none has to be faulted
 * in while something is being measured or held up.
 */
static void *make_zeroed(size_t size)
{
	volatile uint8_t *bytes = calloc(1, size);
	size_t i;

	for (i = 0; bytes && i < size; i += PAGE_SIZE)
		bytes[i] = 0;
	return (void *)bytes;
}

/* An empty cache of that size, if there is memory. */
static bool make_cache(struct ow_cache *cache, uint32_t pairs)
{
	struct ow_brief *entries = make_zeroed(2 * pairs * sizeof(*entries));

	if (!entries)
		return false;
	*cache = (struct ow_cache){ entries, pairs - 1, 0 };
	return true;
}

/*
 * As many rows were put as it has pairs: of so many, a quarter shares its places
 * with two others; or fewer were, and some of them again and again.
 */
static void maybe_grow_cache(struct ow_capture *c)
{
	uint32_t pairs = c->cache.mask + 1;
	struct ow_cache larger;

	if (pairs >= MOST_PAIRS || c->cache.puts <= pairs ||
	    !make_cache(&larger, 4 * pairs))
		return;
	ow_cache_put_all(&larger, &c->cache, c->target.map.generation);
	free(c->cache.entries);
	c->cache = larger;
}

struct ow_capture *ow_capture_create(struct ow_error *err)
{
	static atomic_uint generations;
	struct ow_capture *c = make_zeroed(sizeof(*c));

	if (!c || !make_cache(&c->cache, FIRST_PAIRS)) {
		ow_fail(err, OW_CODE_MEMORY, "out of memory");
		free(c);
		return NULL;
	}
	c->target.mem.read = ow_capture_read_memory;
	c->cfi_work = (struct ow_effort)OW_EFFORT(OW_CFIWORK_MOST,
						  OW_CFIWORK_A_SECOND);
	/* Odd, so that it is never 0. */
	c->target.map.generation = atomic_fetch_add(&generations, 2) + 1;
	return c;
}

void ow_capture_use_tables(struct ow_capture *c,
			   const struct ow_capture_options *options)
{
	c->use_tables = options && options->use_tables && ow_tables_exist();
}

void ow_capture_drop_threads(struct ow_capture *c)
{
	size_t i;

	for (i = 0; i < c->nr_threads; i++) {
		if (c->threads[i].are_texts_lent)
			continue;
		free((char *)c->threads[i].info.wchan);
		free((char *)c->threads[i].info.kernel_stack);
	}
	free(c->threads);
	c->threads = NULL;
	c->nr_threads = 0;
}

static void free_none(void *node)
{
	(void)node;
}

void ow_capture_destroy(struct ow_capture *c)
{
	size_t i;

	if (!c)
		return;
	tdestroy(c->opened, free_none);
	tdestroy(c->tabled, free_none);
	for (i = 0; i < c->nr_modules; i++) {
		if (c->modules[i].owns_object) {
			ow_tablefile_close(c->modules[i].table);
			ow_object_close(c->modules[i].object);
		}
		if (!c->modules[i].is_path_lent)
			free(c->modules[i].path);
	}
	ow_capture_drop_threads(c);
	if (c->priv_free)
		c->priv_free(c->priv);
	free(c->modules);
	free(c->ranges);
	free(c->regions);
	free(c->cache.entries);
	free(c->program);
	ow_budget_give(&c->budget, c->budget);
	ow_intern_deinit(&c->paths);
	free(c);
}

bool ow_capture_take_memory(struct ow_capture *c, size_t nr, size_t size)
{
	return size <= SIZE_MAX / (nr + 1) &&
	       ow_budget_take(&c->budget, nr * size);
}

static int range_order(const void *a, const void *b)
{
	const struct ow_range *x = a, *y = b;

	return (x->start > y->start) - (x->start < y->start);
}

void ow_capture_sort(struct ow_capture *c)
{
	ow_capture_sort_regions(c);
	if (c->target.map.nr)
		qsort(c->ranges, c->target.map.nr, sizeof(*c->ranges),
		      range_order);
	c->target.map.ranges = c->ranges;
}

/* Return true if a module's file was opened, or can't be one of code. */
static bool is_settled(const struct ow_capture_module *m)
{
	if (m->object)
		return m->owns_object;
	return m->base.state == OW_MODULE_READY &&
	       ow_identity_is_file(m->dev, m->inode) &&
	       m->why.code == OW_CODE_FORMAT;
}

int ow_capture_file_order(const void *a, const void *b)
{
	const struct ow_capture_module *x = a, *y = b;

	if (x->dev != y->dev)
		return x->dev > y->dev ? 1 : -1;
	if (x->inode != y->inode)
		return x->inode > y->inode ? 1 : -1;
	return x->path == y->path ? 0 : strcmp(x->path, y->path);
}

/* Another module of the same file that tells what came of opening it, or NULL. */
static const struct ow_capture_module *
find_opened(const struct ow_capture *c, const struct ow_capture_module *m)
{
	struct ow_capture_module *const *node =
		tfind(m, &c->opened, ow_capture_file_order);

	return node && is_settled(*node) ? *node : NULL;
}

/*
 * Each file that is opened is a mapping more, and a process or more to open it, whose end
 * takes longer the more mappings there are (Linux, kernel/acct.c, acct_collect()).
 */
static struct ow_object *open_object(struct ow_capture *c,
				     struct ow_capture_module *m)
{
	if (c->nr_opened < MOST_OPENED) {
		c->nr_opened++;
		return c->open(c, m, &m->why);
	}
	ow_fail(&m->why, OW_CODE_TIMEOUT,
		"%s: not opened, after %d other files of the process", m->path,
		MOST_OPENED);
	return NULL;
}

static void own_object(struct ow_capture *c, struct ow_capture_module *m)
{
	m->object = open_object(c, m);
	m->owns_object = m->object != NULL;
	if (m->object && c->use_tables && !c->by_fp_only)
		m->table = ow_tablefile_open(m->object);
}

static void take_object(struct ow_capture *c, struct ow_capture_module *m)
{
	const struct ow_capture_module *same = find_opened(c, m);

	if (same) {
		m->object = same->object;
		m->table = same->table;
		if (!m->object)
			m->why = same->why;
	} else {
		own_object(c, m);
	}
	if (!m->object)
		return;
	ow_object_build_id(m->object, m->build_id);
	if (!ow_object_bias(m->object, m->start, m->off, &m->base.bias)) {
		ow_fail(&m->why, OW_CODE_FORMAT,
			"%s: no segment holds what is mapped", m->path);
		return;
	}
	/* Rows of another architecture's object would be nonsense. */
	if (m->object->elf.arch != c->target.arch) {
		ow_fail(&m->why, OW_CODE_FORMAT, "%s: for another machine",
			m->path);
		return;
	}
	m->base.entry = m->object->elf.entry;
	if (c->by_fp_only)
		return;
	if (ow_object_load_cfi(m->object, &m->why))
		return;
	if (!m->table) {
		/* CFI tells of trampolines without reading their code. */
		ow_object_drop_fd(m->object);
		ow_object_prefault_cfi(m->object);
	}
	m->base.cfi = &m->object->cfi;
	m->base.orc = m->object->orc.nr ? &m->object->orc : NULL;
	m->base.table = m->table ? &m->table->table : NULL;
}

void ow_capture_ready(struct ow_capture *c, struct ow_capture_module *m)
{
	if (m->base.state == OW_MODULE_READY)
		return;
	take_object(c, m);
	m->base.state = OW_MODULE_READY;
	if (is_settled(m))
		tsearch(m, &c->opened, ow_capture_file_order);
}

struct ow_capture_module *ow_capture_module_at(struct ow_capture *c,
					       uint64_t addr)
{
	const struct ow_range *range = ow_map_find(&c->target.map, addr);
	struct ow_capture_module *m;

	if (!range || !range->module)
		return NULL;
	m = (struct ow_capture_module *)range->module;
	ow_capture_ready(c, m);
	return m;
}

static bool is_among(const struct ow_unserved *u, uint64_t addr)
{
	size_t i;

	for (i = 0; i < u->nr; i++)
		if (addr >= u->list[i].start && addr < u->list[i].end)
			return true;
	return false;
}

/* What is wrong where a walk ended, with the address and the module. */
static void explain(struct ow_capture *c, size_t i, enum ow_end end,
		    struct ow_error *err)
{
	static const uint8_t codes[OW_NR_ENDS] = {
		[OW_END_LIMIT] = OW_CODE_UNSUPPORTED,
		[OW_END_NO_MODULE] = OW_CODE_ABSENT,
		[OW_END_NO_CFI] = OW_CODE_ABSENT,
		[OW_END_BAD_RULE] = OW_CODE_FORMAT,
		[OW_END_UNSUPPORTED] = OW_CODE_UNSUPPORTED,
		[OW_END_FAULT] = OW_CODE_FAULT,
		[OW_END_UNKNOWN] = OW_CODE_ABSENT,
		[OW_END_CYCLE] = OW_CODE_FORMAT,
		[OW_END_COSTLY] = OW_CODE_UNSUPPORTED,
	};
	const struct ow_walk *w = &c->walk;
	uint64_t pc = w->nr ? w->frames[w->nr - 1].pc : 0;
	const struct ow_capture_module *m = ow_capture_module_at(c, pc);
	char fault[96] = "";

	if (end == OW_END_FAULT && is_among(&c->over, w->step.fault))
		snprintf(fault, sizeof(fault),
			 " (%#llx, beyond what may be copied, see "
			 "--memory-limit)",
			 (unsigned long long)w->step.fault);
	else if (end == OW_END_FAULT && is_among(&c->unserved, w->step.fault) &&
		 c->unserved.start_errno)
		snprintf(fault, sizeof(fault),
			 " (%#llx, not read: can't start a process)",
			 (unsigned long long)w->step.fault);
	else if (end == OW_END_FAULT && is_among(&c->unserved, w->step.fault))
		snprintf(fault, sizeof(fault),
			 " (%#llx, not served within %u ms)",
			 (unsigned long long)w->step.fault, c->unserved.ms);
	else if (end == OW_END_FAULT && c->threads[i].replaced &&
		 w->step.fault >= c->threads[i].replaced)
		snprintf(fault, sizeof(fault),
			 " (%#llx, code that it leads to was replaced "
			 "meanwhile)",
			 (unsigned long long)c->threads[i].replaced);
	else if (end == OW_END_FAULT && w->step.fault)
		snprintf(fault, sizeof(fault), " (%#llx)",
			 (unsigned long long)w->step.fault);
	ow_fail(err, codes[end], "%s%s at %#llx%s%s%s%s", ow_end_text(end),
		fault, (unsigned long long)pc, m ? " in " : "",
		m ? m->path : "", m && m->why.code ? ": " : "",
		m && m->why.code ? m->why.msg : "");
}

static bool lose_cut(struct ow_capture_module *m)
{
	bool is_object = ow_object_is_cut(m->object) && !m->is_cut;
	bool is_table = m->base.table && ow_filemap_is_cut(m->table->map);

	if (is_object) {
		ow_object_fail_cut(m->object, &m->why);
		m->is_cut = true;
		m->base.cfi = NULL;
		m->base.orc = NULL;
	}
	if (is_object || is_table)
		m->base.table = NULL;
	return is_object || is_table;
}

bool ow_capture_lose_cut(struct ow_capture *c)
{
	unsigned int now = ow_filemap_nr_cut();
	bool lost = false;
	size_t i;

	if (now == c->nr_cut)
		return false;
	c->nr_cut = now;
	for (i = 0; i < c->nr_modules; i++)
		lost |= lose_cut(&c->modules[i]);
	if (lost) /* no row of them is to be found again */
		memset(c->cache.entries, 0,
		       2 * ((size_t)c->cache.mask + 1) *
			       sizeof(*c->cache.entries));
	return lost;
}

/* Walk on, and read modules on the way, whose time is not the walk's. */
static enum ow_end run_piece(struct ow_capture *c, bool *has_time)
{
	struct ow_walk *w = &c->walk;
	unsigned int before;
	enum ow_end end;

	for (;;) {
		before = w->nr;
		ow_walktime_start(&c->walk_time);
		end = ow_walk_run(w);
		if (!ow_walktime_stop(&c->walk_time, w->nr - before))
			*has_time = false;
		if (end != OW_END_WANT)
			return end;
		ow_capture_ready(c, (struct ow_capture_module *)w->wanted);
	}
}

/* A walk without frames yet goes on to the stack's end, or while there is time. */
static enum ow_end run_pieces(struct ow_capture *c, unsigned int max)
{
	struct ow_walk *w = &c->walk;
	bool has_time = true;
	unsigned int piece;
	enum ow_end end;

	ow_walktime_begin(&c->walk_time);
	do {
		piece = ow_walktime_piece(&c->walk_time);
		w->max = piece < max - w->max ? w->max + piece : max;
		w->end = OW_END_NOT_YET;
		end = run_piece(c, &has_time);
	} while (end == OW_END_LIMIT && w->max < max && has_time);
	return end == OW_END_LIMIT && w->max < max ? OW_END_COSTLY : end;
}

static size_t walk(struct ow_capture *c, size_t i, struct ow_frame *frames,
		   size_t max, enum ow_end *end_ret)
{
	struct ow_walk *w = &c->walk;
	uint64_t share = ow_effort_left(&c->cfi_work) / OW_CFIWORK_SHARES;

	c->cfi_left = share;
	c->target.cfi_left = &c->cfi_left;
	maybe_grow_cache(c);
	ow_walk_begin(w, &c->target, &c->threads[i].stack, &c->cache,
		      &c->threads[i].regs, frames, 0);
	*end_ret = run_pieces(c, max < UINT32_MAX ? (unsigned int)max :
						    UINT32_MAX);
	ow_effort_spend(&c->cfi_work, share - c->cfi_left);
	return w->nr;
}

size_t ow_capture_walk(struct ow_capture *c, size_t i, struct ow_frame *frames,
		       size_t max, enum ow_end *end_ret, struct ow_error *err)
{
	size_t nr;

	if (i >= c->nr_threads || !c->threads[i].info.captured) {
		*end_ret = OW_END_FAULT;
		ow_fail(err, OW_CODE_ABSENT, "thread was not captured");
		return 0;
	}
	do
		nr = walk(c, i, frames, max, end_ret);
	while (ow_capture_lose_cut(c));
	if (ow_filemap_is_cut(c->file)) {
		*end_ret = OW_END_FAULT;
		ow_fail(err, OW_CODE_FORMAT,
			"%s: cut off, or not readable, while it was read",
			ow_filemap_name(c->file));
		return 0;
	}
	if (*end_ret != OW_END_OUTERMOST && err)
		explain(c, i, *end_ret, err);
	return nr;
}

int ow_capture_again(struct ow_capture *c, struct ow_error *err)
{
	if (!c->again)
		return ow_fail(err, OW_CODE_UNSUPPORTED,
			       "%s: can be taken only once",
			       ow_capture_program(c));
	c->nr_opened = 0;
	return c->again(c, err);
}

pid_t ow_capture_pid(const struct ow_capture *c)
{
	return c->pid;
}

const char *ow_capture_program(const struct ow_capture *c)
{
	return c->program ? c->program : "?";
}

size_t ow_capture_nr_threads(const struct ow_capture *c)
{
	return c->nr_threads;
}

const struct ow_thread *ow_capture_thread(const struct ow_capture *c, size_t i)
{
	return i < c->nr_threads ? &c->threads[i].info : NULL;
}

const char *ow_capture_warning(const struct ow_capture *c)
{
	return c->warning[0] ? c->warning : NULL;
}

void ow_capture_stats(const struct ow_capture *c, struct ow_capture_stats *ret)
{
	*ret = c->stats;
}

const char *ow_capture_syscall_name(const struct ow_capture *c,
				    const struct ow_thread *t)
{
	switch (t->syscall_abi) {
	case OW_CALL_OWN: return ow_syscall_name(c->target.arch, t->syscall_nr);
	case OW_CALL_I386: return ow_syscall_name(&ow_arch_i386, t->syscall_nr);
	case OW_CALL_X86_64:
		return ow_syscall_name(&ow_arch_x86_64, t->syscall_nr);
	case OW_CALL_X32:
		return ow_syscall_x32_name(t->syscall_nr & ~OW_X32_BIT);
	case OW_CALL_UNKNOWN: break;
	}
	return NULL;
}

size_t ow_capture_nr_regions(const struct ow_capture *c)
{
	return c->nr_regions;
}

bool ow_capture_region(const struct ow_capture *c, size_t i,
		       uint64_t *start_ret, uint64_t *size_ret)
{
	if (i >= c->nr_regions)
		return false;
	*start_ret = c->regions[i].start;
	*size_ret = c->regions[i].size;
	return true;
}

size_t ow_capture_nr_modules(const struct ow_capture *c)
{
	return c->nr_modules;
}

static struct ow_module_info info_of(const struct ow_capture_module *m)
{
	return (struct ow_module_info){ m->start, m->end,      m->base.bias,
					m->path,  m->build_id, m->off };
}

int ow_capture_module(struct ow_capture *c, size_t i,
		      struct ow_module_info *ret, struct ow_error *err)
{
	struct ow_capture_module *m;

	if (i >= c->nr_modules)
		return ow_fail(err, OW_CODE_ARGUMENT, "no module %zu", i);
	m = &c->modules[i];
	ow_capture_ready(c, m);
	*ret = info_of(m);
	return 0;
}

bool ow_capture_lacks(const struct ow_capture *c, size_t i,
		      struct ow_module_info *ret, struct ow_error *why)
{
	const struct ow_capture_module *m = c->modules + i;

	if (i >= c->nr_modules || m->base.state != OW_MODULE_READY || m->object)
		return false;
	*ret = info_of(m);
	*why = m->why;
	return true;
}
