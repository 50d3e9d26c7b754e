// SPDX-License-Identifier: BSD-2-Clause
#include "twin.h"

#include <stdlib.h>

#include "bpfnarrow.h"
#include "error.h"
#include "tablegen.h"
#include "tablemap.h"

#define IMAGE 7 /* any but 0 */

const volatile struct ow_bpf_arch arch = {
	.callee_saved = 0xf0c8, /* rbx, rbp, rsp, r12 to r15 */
	.pc = 16,
	.sp = 7,
	.fp = 6,
	.ra = 16,
};
const volatile __u64 hash_key = 1;

struct table {
	uint8_t *bytes;
	size_t size;
};

struct twin {
	struct ow_capture *capture;
	struct ow_bpf_range *ranges;
	uint32_t nr_ranges, nr_objects;
	struct ow_bpf_object objects[OW_BPF_OBJECTS];
	struct table tables[OW_BPF_OBJECTS];
	const struct ow_object *of[OW_BPF_OBJECTS];
	struct ow_window stack; /* of the thread that is walked */
	struct walk walk;
};

static struct twin *current; /* who looks things up */

void *bpf_map_lookup_elem(const void *map, const void *key)
{
	struct twin *t = current;
	const struct table *table = map;
	uint32_t k;

	memcpy(&k, key, sizeof(k));
	if (map == &ranges)
		return k < t->nr_ranges ? &t->ranges[k] : NULL;
	if (map == &objects)
		return k < OW_BPF_OBJECTS ? &t->objects[k] : NULL;
	if (map == &tables)
		return k < OW_BPF_OBJECTS && t->tables[k].bytes ?
			       &t->tables[k] :
			       NULL;
	return k < table->size / OW_BPF_CHUNK ?
		       table->bytes + (size_t)k * OW_BPF_CHUNK :
		       NULL;
}

long bpf_probe_read_user(void *to, __u32 size, const void *from)
{
	struct ow_target *target = &current->capture->target;
	const struct ow_window *stack = &current->stack;
	uint64_t addr = (uint64_t)from, skip = addr - stack->start;

	if (skip < stack->size && stack->size - skip >= size) {
		memcpy(to, stack->bytes + skip, size);
		return 0;
	}
	if (!target->mem.read(&target->mem, addr, to, size))
		return 0;
	memset(to, 0, size);
	return -1;
}

static void make_table(struct twin *t, uint32_t number,
		       const struct ow_object *obj)
{
	struct ow_bpf_object *head = &t->objects[number];
	_cleanup_(ow_freep) uint8_t *bytes = NULL;
	struct table *made = &t->tables[number];
	struct ow_table_stats stats;
	struct ow_table table;
	size_t size;

	head->entry = obj->elf.entry;
	if (obj->elf.arch != t->capture->target.arch || !obj->cfi_loaded)
		return;
	bytes = ow_table_generate_all(obj, &size, &stats, NULL, NULL);
	if (!bytes || ow_table_open(&table, bytes, size))
		return;
	made->bytes = ow_tablemap_make(obj, &table, NULL, head, &made->size);
	head->entry = obj->elf.entry;
	head->state = made->bytes ? OW_BPF_READY : OW_BPF_NO_TABLE;
}

/* The number of a module's object, whose table is made; 0 if it has none. */
static uint32_t number_of(struct twin *t, struct ow_capture_module *m)
{
	uint32_t n;

	ow_capture_ready(t->capture, m);
	if (!m->object)
		return 0;
	for (n = 1; n <= t->nr_objects; n++)
		if (t->of[n] == m->object)
			return n;
	if (n == OW_BPF_OBJECTS)
		return 0;
	t->nr_objects = n;
	t->of[n] = m->object;
	make_table(t, n, m->object);
	return n;
}

struct twin *twin_create(struct ow_capture *c)
{
	/* A walk is as aligned as in a map. */
	struct twin *t = aligned_alloc(_Alignof(struct twin), sizeof(*t));
	const struct ow_range *r;
	size_t i;

	if (!t)
		return NULL;
	memset(t, 0, sizeof(*t));
	t->capture = c;
	t->ranges = calloc(c->target.map.nr + 1, sizeof(*t->ranges));
	if (!t->ranges) {
		twin_destroy(t);
		return NULL;
	}
	for (i = 0; i < c->target.map.nr; i++) {
		r = &c->target.map.ranges[i];
		t->ranges[i].start = r->start;
		t->ranges[i].end = r->end;
		if (!r->module)
			continue;
		t->ranges[i].object =
			number_of(t, (struct ow_capture_module *)r->module);
		t->ranges[i].bias = r->module->bias;
	}
	t->nr_ranges = (uint32_t)c->target.map.nr;
	return t;
}

void twin_destroy(struct twin *t)
{
	uint32_t n;

	if (!t)
		return;
	for (n = 1; n <= t->nr_objects; n++)
		free(t->tables[n].bytes);
	free(t->ranges);
	free(t);
}

size_t twin_walk(struct twin *t, size_t i, const uint64_t **frames_ret,
		 enum ow_end *end_ret)
{
	const struct ow_capture_thread *from = &t->capture->threads[i];
	struct walk *w = &t->walk;

	current = t;
	t->stack = from->stack;
	w->careful = 0;
	w->process = (struct ow_bpf_process){ IMAGE, 0, t->nr_ranges, 0, 0, 0 };
	w->nr_kernel = 0;
	w->max = OW_BPF_FRAMES;
	do {
		memset(w->reg, 0, sizeof(w->reg));
		memcpy(w->reg, from->regs.val,
		       sizeof(from->regs.val[0]) * OW_BPF_REGS);
		w->known = from->regs.known;
		if (t->capture->target.arch->word == 4)
			narrow_run(w);
		else
			walk_run(w);
	} while (!w->careful && walk_again(w));
	*frames_ret = (const uint64_t *)w->stack.frames;
	*end_ret = w->end;
	return w->nr;
}
