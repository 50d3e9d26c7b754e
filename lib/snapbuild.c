// SPDX-License-Identifier: BSD-2-Clause
#include "snapbuild.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>

#include "arch.h"
#include "budget.h"
#include "error.h"
#include "jitnames.h"
#include "redact.h"
#include "snapformat.h"

#define LARGEST_OBJECT ((size_t)64 << 20) /* that a snapshot holds */
#define COPIES         2 /* of an object: in a section, and in all joined */

/* A piece that has been written, and where in the bytes of all. */
struct shared {
	uint64_t start, size, off;
};

/* What stacks have together that were copied at once, and overlap. */
struct copied {
	struct ow_window all;
	uint32_t piece; /* that has it, once it is_placed */
	bool is_placed;
};

/* An object that the snapshot holds. */
struct held {
	const struct ow_object *object;
	const char *path;
	uint32_t nr; /* of OW_SNAP_OBJECTS */
};

/* A snapshot under construction. */
struct building {
	struct ow_capture *c;
	bool redacted;
	struct ow_redaction redaction; /* if so */
	struct shared *shared;
	uint32_t nr_shared, nr_pieces;
	struct copied *copied; /* by place and address */
	size_t nr_copied;
	struct held *held; /* by address, once all are there */
	size_t nr_held;
	size_t own;       /* bytes taken from the budget for them */
	const char *path; /* of the module before, at path_off of the strings */
	uint32_t path_off;
	uint64_t nr_regs;
	uint32_t jit_path;
	size_t size; /* of all that was to be added, but for texts */
	struct ow_bytebuf sections[OW_SNAP_NR_TYPES];
};

/* What is beyond the largest snapshot is only counted. */
static void add(struct building *b, enum ow_snap_type type, const void *bytes,
		size_t size)
{
	b->size += size;
	if (b->size <= OW_SNAP_LARGEST)
		ow_bytebuf_add(&b->sections[type], bytes, size);
}

static uint32_t add_text(struct building *b, const char *text)
{
	struct ow_bytebuf *to = &b->sections[OW_SNAP_STRINGS];
	size_t off;

	if (to->size == 0)
		ow_bytebuf_add(to, "", 1);
	if (!text || !*text)
		return 0;
	off = to->size;
	if (off > UINT32_MAX) {
		to->failed = true;
		return 0;
	}
	ow_bytebuf_add_text(to, text);
	return (uint32_t)off;
}

static uint32_t add_piece(struct building *b, uint64_t start, uint64_t size)
{
	struct ow_snap_piece piece = { start, size };

	add(b, OW_SNAP_PIECES, &piece, sizeof(piece));
	return b->nr_pieces++;
}

/* Regions, and those that touch as one piece. */
static void add_shared(struct building *b, const struct ow_region *regions,
		       size_t nr)
{
	struct shared *p = NULL;
	size_t i;

	b->shared = calloc(nr + 1, sizeof(*b->shared));
	for (i = 0; b->shared && i < nr; i++) {
		if (p && regions[i].start == p->start + p->size) {
			p->size += regions[i].size;
		} else {
			p = &b->shared[b->nr_shared++];
			*p = (struct shared){ regions[i].start, regions[i].size,
					      b->sections[OW_SNAP_MEMORY].size };
		}
		add(b, OW_SNAP_MEMORY, regions[i].bytes, regions[i].size);
	}
	if (!b->shared)
		b->sections[OW_SNAP_MEMORY].failed = true;
	for (i = 0; i < b->nr_shared; i++)
		add_piece(b, b->shared[i].start, b->shared[i].size);
}

/*
 * The piece that has these bytes of stacks: threads that were copied one after
 * another may have copies of the same addrs that differ.
 */
static uint32_t find_piece(const struct building *b,
			   const struct ow_window *stack)
{
	size_t low = 0, high = b->nr_shared, mid;
	const uint8_t *bytes = b->sections[OW_SNAP_MEMORY].bytes;
	const struct shared *p;
	uint64_t skip;

	while (low < high) {
		mid = low + (high - low) / 2;
		p = &b->shared[mid];
		skip = stack->start - p->start;
		if (stack->start < p->start)
			high = mid;
		else if (skip >= p->size)
			low = mid + 1;
		else if (p->size - skip >= stack->size &&
			 memcmp(bytes + p->off + skip, stack->bytes,
				stack->size) == 0)
			return (uint32_t)mid;
		else
			break;
	}
	return OW_SNAP_NONE;
}

/* How far the bytes are from their addresses: alike for what was copied at once. */
static uint64_t place_of(const struct ow_window *w)
{
	return (uint64_t)(uintptr_t)w->bytes - w->start;
}

static int copied_order(const void *a, const void *b)
{
	const struct ow_window *x = a, *y = b;

	if (place_of(x) != place_of(y))
		return place_of(x) > place_of(y) ? 1 : -1;
	return (x->start > y->start) - (x->start < y->start);
}

static bool overlap(const struct ow_window *first,
		    const struct ow_window *second)
{
	return place_of(first) == place_of(second) &&
	       second->start - first->start < first->size;
}

/* Have stacks that share their bytes be one, in order. */
static void unite_copied(struct building *b)
{
	struct ow_window *last, *next;
	uint64_t size;
	size_t nr = 0, i;

	for (i = 0; i < b->nr_copied; i++) {
		next = &b->copied[i].all;
		last = nr ? &b->copied[nr - 1].all : NULL;
		if (!last || !overlap(last, next)) {
			b->copied[nr++].all = *next;
			continue;
		}
		size = next->start - last->start + next->size;
		if (size > last->size)
			last->size = size;
	}
	b->nr_copied = nr;
}

/*
 * List what stacks have.  Any number of threads can have nearly the same stack, which
 * is copied once for all that are stopped at a time.
 */
static void list_copied(struct building *b)
{
	const struct ow_capture_thread *t = b->c->threads;
	size_t i;

	b->copied = calloc(b->c->nr_threads + 1, sizeof(*b->copied));
	if (!b->copied) {
		b->sections[OW_SNAP_MEMORY].failed = true;
		return;
	}
	for (i = 0; i < b->c->nr_threads; i++)
		if (t[i].info.captured && t[i].stack.size)
			b->copied[b->nr_copied++].all = t[i].stack;
	qsort(b->copied, b->nr_copied, sizeof(*b->copied), copied_order);
	unite_copied(b);
}

/* What has a stack that was listed. */
static struct copied *copied_of(const struct building *b,
				const struct ow_window *stack)
{
	size_t low = 0, half, nr = b->nr_copied;

	for (; nr > 1; nr -= half) {
		half = nr / 2;
		if (copied_order(&b->copied[low + half].all, stack) <= 0)
			low += half;
	}
	return &b->copied[low];
}

static uint32_t place_copied(struct building *b, struct copied *copied)
{
	const struct ow_window *all = &copied->all;

	if (copied->is_placed)
		return copied->piece;
	copied->is_placed = true;
	copied->piece = find_piece(b, all);
	if (copied->piece == OW_SNAP_NONE) {
		add(b, OW_SNAP_MEMORY, all->bytes, all->size);
		copied->piece = add_piece(b, all->start, all->size);
	}
	return copied->piece;
}

static void add_stack(struct building *b, const struct ow_window *stack,
		      struct ow_snap_thread *rec)
{
	rec->piece = OW_SNAP_NONE;
	if (b->redacted || stack->size == 0 || b->size > OW_SNAP_LARGEST ||
	    b->sections[OW_SNAP_MEMORY].failed)
		return;
	rec->stack = stack->start;
	rec->stack_size = stack->size;
	rec->piece = place_copied(b, copied_of(b, stack));
}

static void add_regs(struct building *b, size_t i, struct ow_snap_thread *rec)
{
	const struct ow_regs *regs = &b->c->threads[i].regs;
	unsigned int slot;

	rec->known = b->redacted ? b->redaction.known[i] : regs->known;
	rec->regs = b->nr_regs;
	for (slot = 0; slot < b->c->target.arch->nr_regs; slot++) {
		if (!(rec->known >> slot & 1))
			continue;
		add(b, OW_SNAP_REGS, &regs->val[slot], sizeof(regs->val[slot]));
		b->nr_regs++;
	}
}

static void add_thread(struct building *b, size_t i)
{
	const struct ow_capture_thread *t = &b->c->threads[i];
	struct ow_snap_thread rec = {
		.tid = t->info.tid,
		.state = (uint8_t)t->info.state,
		.flags = (t->info.captured ? OW_SNAP_CAPTURED : 0) |
			 (t->info.stopped ? OW_SNAP_STOPPED : 0) |
			 (t->info.certain ? OW_SNAP_CERTAIN : 0),
		.name = add_text(b, t->info.name),
		.why = t->info.why.code,
		.why_errno = t->info.why.os_errno,
		.why_text = t->info.why.code ? add_text(b, t->info.why.msg) : 0,
		.piece = OW_SNAP_NONE,
		.syscall_nr = t->info.syscall_nr,
		.syscall_abi = (uint8_t)t->info.syscall_abi,
		.wchan = add_text(b, t->info.wchan),
		.kernel_stack = add_text(b, t->info.kernel_stack),
	};

	/* Arguments may be anything. */
	if (b->redacted)
		rec.syscall_nr = OW_SYSCALL_UNKNOWN;
	else
		memcpy(rec.syscall_args, t->info.syscall_args,
		       sizeof(rec.syscall_args));
	if (t->info.captured) {
		add_regs(b, i, &rec);
		add_stack(b, &t->stack, &rec);
	}
	add(b, OW_SNAP_THREADS, &rec, sizeof(rec));
}

/* Contents that nobody can find later: the vDSO's, or a deleted file's. */
static bool is_gone(const struct ow_capture_module *m)
{
	return m->object && m->owns_object &&
	       (m->object->is_image || m->deleted) &&
	       m->object->size <= LARGEST_OBJECT;
}

/* Hold an object, if there is memory for it. */
static void add_object(struct building *b, const struct held *h)
{
	const struct ow_object *obj = h->object;
	struct ow_snap_object rec = { obj->size };
	size_t own = 0;

	if (!ow_budget_take(&own, COPIES * obj->size)) {
		ow_budget_refuse(h->path, "its copy in a snapshot");
		return;
	}
	b->own += own;
	b->held[b->nr_held] =
		(struct held){ obj, h->path, (uint32_t)b->nr_held };
	b->nr_held++;
	add(b, OW_SNAP_OBJECTS, &rec, sizeof(rec));
	add(b, OW_SNAP_OBJECT_BYTES, obj->bytes, obj->size);
}

static int held_order(const void *a, const void *b)
{
	const struct held *x = a, *y = b;

	return (x->object > y->object) - (x->object < y->object);
}

static void add_objects(struct building *b)
{
	struct ow_capture *c = b->c;
	const struct ow_capture_module *m;
	const struct ow_object *last = NULL;
	struct held h;
	size_t i, nr = 0;

	b->held = calloc(c->nr_modules + 1, sizeof(*b->held));
	if (!b->held) {
		b->sections[OW_SNAP_OBJECTS].failed = true;
		return;
	}
	for (i = 0; i < c->nr_modules; i++) {
		m = &c->modules[i];
		if (is_gone(m))
			b->held[nr++] = (struct held){ m->object, m->path, 0 };
	}
	/* Each once, however many modules use it; in place. */
	qsort(b->held, nr, sizeof(*b->held), held_order);
	for (i = 0; i < nr; i++) {
		h = b->held[i];
		if (h.object != last)
			add_object(b, &h);
		last = h.object;
	}
}

/* The number of an object that the snapshot holds, or OW_SNAP_NONE. */
static uint32_t find_object(const struct building *b,
			    const struct ow_object *object)
{
	const struct held key = { object, NULL, 0 }, *found = NULL;

	if (b->nr_held)
		found = bsearch(&key, b->held, b->nr_held, sizeof(*b->held),
				held_order);
	return found ? found->nr : OW_SNAP_NONE;
}

/* Many modules in a row may be of one file, whose path may be long. */
static uint32_t add_path(struct building *b, const struct ow_capture_module *m)
{
	if (!b->path || strcmp(b->path, m->path) != 0)
		b->path_off = add_text(b, m->path);
	b->path = m->path;
	return b->path_off;
}

static void add_module(struct building *b, const struct ow_capture_module *m)
{
	const struct ow_object *obj = m->object;
	struct ow_snap_module rec = {
		.start = m->start,
		.end = m->end,
		.off = m->off,
		.dev = m->dev,
		.inode = m->inode,
		.bias = m->base.bias,
		.path = add_path(b, m),
		.why = !obj ? add_text(b, m->why.msg) : 0,
		.object = obj ? find_object(b, obj) : OW_SNAP_NONE,
		.flags = (m->deleted ? OW_SNAP_DELETED : 0) |
			 (obj ? OW_SNAP_LOOKED : 0),
	};

	if (obj) {
		rec.build_id_size = (uint8_t)obj->build_id_size;
		memcpy(rec.build_id, obj->build_id, obj->build_id_size);
		if (obj->build_id_size == 0)
			rec.digest = ow_snap_digest(obj);
	}
	add(b, OW_SNAP_MODULES, &rec, sizeof(rec));
}

static void add_modules(struct building *b)
{
	struct ow_capture *c = b->c;
	struct ow_snap_range rec;
	size_t i;

	add_objects(b);
	for (i = 0; i < c->nr_modules; i++)
		add_module(b, &c->modules[i]);
	for (i = 0; i < c->target.map.nr; i++) {
		const struct ow_module *m = c->ranges[i].module;

		rec = (struct ow_snap_range){
			c->ranges[i].start, c->ranges[i].end,
			m ? (uint32_t)((const struct ow_capture_module *)m -
				       c->modules) :
			    OW_SNAP_NONE,
			0
		};
		add(b, OW_SNAP_RANGES, &rec, sizeof(rec));
	}
}

static void add_reg_names(struct building *b)
{
	const struct ow_arch *arch = b->c->target.arch;
	unsigned int slot;
	uint32_t text;

	for (slot = 0; slot < arch->nr_regs; slot++) {
		text = add_text(b, arch->names[slot]);
		add(b, OW_SNAP_REG_NAMES, &text, sizeof(text));
	}
}

static void add_meta(struct building *b)
{
	const struct ow_capture *c = b->c;
	struct utsname host = { 0 };
	struct ow_snap_meta meta = {
		.machine = c->target.arch->machine,
		.word = c->target.arch->word,
		.flags = b->redacted ? OW_SNAP_REDACTED : 0,
		.pid = c->pid,
		.program = add_text(b, c->program),
		.kernel = uname(&host) ? 0 : add_text(b, host.release),
		.nr_shared = b->nr_shared,
		.time = (uint64_t)time(NULL),
		.pc_mask = c->target.pc_mask,
		.freeze_ns = c->stats.freeze_ns,
		.longest_ns = c->stats.longest_ns,
		.bytes_copied = c->stats.bytes_copied,
		.stopped = c->stats.stopped,
		.sleeps = c->stats.sleeps,
		.jit_path = b->jit_path,
	};

	add(b, OW_SNAP_META, &meta, sizeof(meta));
}

static void join(struct building *b, struct ow_bytebuf *ret)
{
	int type;

	for (type = 1; type < OW_SNAP_NR_TYPES; type++) {
		struct ow_bytebuf *from = &b->sections[type];
		uint32_t entry = ow_snap_entry((enum ow_snap_type)type);
		struct ow_snap_section head = { (uint32_t)type, entry,
						from->size / entry };

		ret->failed |= from->failed;
		ow_bytebuf_add(ret, &head, sizeof(head));
		ow_bytebuf_add(ret, from->bytes, from->size);
		ow_bytebuf_pad(ret, 8);
		ow_bytebuf_deinit(from);
	}
}

static int add_all(struct building *b, struct ow_error *err)
{
	struct ow_capture *c = b->c;
	struct ow_jitnames jit;
	int failed = 0;
	size_t i;

	for (i = 0; i < c->nr_modules; i++)
		ow_capture_ready(c, &c->modules[i]);
	if (b->redacted)
		failed = ow_redact(c, &b->redaction, err);
	if (failed)
		return failed;
	if (b->redacted)
		add_shared(b, b->redaction.pieces.list, b->redaction.pieces.nr);
	else
		add_shared(b, c->regions, c->nr_regions);
	if (!b->redacted)
		list_copied(b);
	for (i = 0; i < c->nr_threads; i++)
		add_thread(b, i);
	add_reg_names(b);
	add_modules(b);
	if (ow_jitnames_collect(&jit, c))
		b->jit_path = add_text(b, jit.path);
	add(b, OW_SNAP_JIT_NAMES, jit.text.bytes, jit.text.size);
	ow_jitnames_deinit(&jit);
	add_meta(b);
	return 0;
}

int ow_snap_build(struct ow_capture *c, unsigned int flags,
		  struct ow_bytebuf *ret, struct ow_error *err)
{
	struct building b = { .c = c, .redacted = flags & OW_SAVE_REDACT };
	int failed, type;

	if (!c->target.arch)
		return ow_fail(err, OW_CODE_ARGUMENT, "nothing was captured");
	failed = add_all(&b, err);
	if (!failed)
		failed = ow_snap_check_size(b.size, err);
	if (!failed)
		join(&b, ret);
	for (type = 0; type < OW_SNAP_NR_TYPES; type++)
		ow_bytebuf_deinit(&b.sections[type]);
	ow_redaction_deinit(&b.redaction);
	free(b.shared);
	free(b.copied);
	free(b.held);
	ow_budget_give(&b.own, b.own);
	if (!failed && ret->failed)
		failed = ow_fail(err, OW_CODE_MEMORY, "out of memory");
	return failed;
}
