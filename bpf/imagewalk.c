// SPDX-License-Identifier: BSD-2-Clause
#include "imagewalk.h"

#include <stdlib.h>
#include <string.h>

#include "err.h"
#include "filemap.h"
#include "monotonic.h"

#define AGAIN_NS \
	1000000000 /* until what there was no time for is tried again */

/* Code and read-only data, as it is in objects. */
static int read_object(const struct ow_imagewalk *w, uint64_t addr, void *buf,
		       size_t size)
{
	const struct ow_range *r = ow_map_find(&w->target.map, addr);
	const struct ow_object *obj;
	const uint8_t *at;
	uint64_t avail;

	if (!r || !r->module)
		return -OW_EFAULT;
	obj = ow_sampledobjects_get(w->objects, w->ranges[r - w->map].object);
	if (!obj || obj->elf.phnum > OW_MOST_SEGMENTS)
		return -OW_EFAULT;
	at = ow_elf_at(&obj->elf, addr - r->module->bias, &avail);
	if (!at || avail < size)
		return -OW_EFAULT;
	memcpy(buf, at, size);
	return 0;
}

/* A piece at a time, as each read is one of a delegate: stacks lie together. */
static bool read_live(struct ow_livemem *l, uint64_t addr, void *buf,
		      size_t size)
{
	if (addr - l->start >= l->size || l->size - (addr - l->start) < size) {
		l->start = addr & ~(uint64_t)(OW_BPF_PAGE - 1);
		l->size = ow_processmem_read_patiently(&l->mem, &l->patience,
						       l->start, l->bytes,
						       sizeof(l->bytes));
	}
	if (addr - l->start >= l->size || l->size - (addr - l->start) < size)
		return false;
	memcpy(buf, l->bytes + (addr - l->start), size);
	return true;
}

static int read_memory(const struct ow_memory *mem, uint64_t addr, void *buf,
		       size_t size)
{
	const struct ow_imagewalk *w = (const struct ow_imagewalk *)mem;
	uint64_t skip = addr - w->stack.start;

	if (skip < w->stack.size && w->stack.size - skip >= size) {
		memcpy(buf, w->stack.bytes + skip, size);
		return 0;
	}
	if (w->live && read_live(w->live, addr, buf, size))
		return 0;
	return read_object(w, addr, buf, size);
}

static void fill_module(struct ow_imagewalk *w, uint32_t i)
{
	const struct ow_bpf_range *r = &w->ranges[i];
	struct ow_object *obj = ow_sampledobjects_get(w->objects, r->object);
	struct ow_module *m = &w->modules[i];

	w->map[i] = (struct ow_range){ r->start, r->end, NULL };
	*m = (struct ow_module){ .bias = r->bias, .state = OW_MODULE_READY };
	/* Nothing can be told of what is there: the walk is to end. */
	if (r->mapped == OW_BPF_NO_ROOM)
		w->map[i].end = r->start;
	if (!obj || ow_object_is_cut(obj) || obj->elf.arch != w->target.arch)
		return;
	m->state = OW_MODULE_UNREAD;
	m->entry = obj->elf.entry;
	w->map[i].module = m;
}

bool ow_imagewalk_begin(struct ow_imagewalk *w)
{
	const struct ow_object *obj;
	uint32_t i;

	w->load_left = OW_IMAGEWALK_LOAD_NS;
	if (!w->late_ns || ow_now_ns() - w->late_ns < AGAIN_NS)
		return false;
	w->late_ns = 0;
	for (i = 0; i < w->target.map.nr; i++) {
		obj = ow_sampledobjects_get(w->objects, w->ranges[i].object);
		if (obj && obj->cfi_tries)
			fill_module(w, i);
	}
	return true;
}

bool ow_imagewalk_ready(struct ow_imagewalk *w, const struct ow_module *wanted)
{
	size_t i = (size_t)(wanted - w->modules);
	struct ow_object *obj =
		ow_sampledobjects_get(w->objects, w->ranges[i].object);
	uint64_t begun = ow_cpu_ns(), took;

	if (!w->load_left)
		return false;
	w->modules[i].state = OW_MODULE_READY;
	if (obj && !ow_object_load_cfi(obj, NULL))
		w->modules[i].cfi = &obj->cfi;
	else
		w->map[i].module = NULL;
	if (obj && obj->cfi_is_late)
		w->late_ns = ow_now_ns();
	took = ow_cpu_ns() - begun;
	w->load_left -= took < w->load_left ? took : w->load_left;
	return true;
}

struct ow_imagewalk *ow_imagewalk_create(struct ow_images *im,
					 const struct ow_image *image,
					 const struct ow_arch *arch)
{
	struct ow_imagewalk *w = calloc(1, sizeof(*w));
	uint32_t i;

	if (!w)
		return NULL;
	w->nr_cut = ow_filemap_nr_cut();
	w->objects = im->objects;
	w->ranges = image->ranges;
	w->modules = calloc(image->nr + 1, sizeof(*w->modules));
	w->map = calloc(image->nr + 1, sizeof(*w->map));
	if (!w->modules || !w->map) {
		ow_imagewalk_destroy(w);
		return NULL;
	}
	w->target.mem.read = read_memory;
	w->target.arch = arch;
	w->target.cfi_left = &w->cfi_left;
	for (i = 0; i < image->nr; i++)
		fill_module(w, i);
	/* Walks of either kind of code share one cache. */
	w->target.map = (struct ow_map){ w->map, image->nr,
					 2 * image->id + (arch->word == 4) };
	return w;
}

bool ow_imagewalk_lose_cut(struct ow_imagewalk *w)
{
	unsigned int now = ow_filemap_nr_cut();
	uint32_t i;

	if (now == w->nr_cut)
		return false;
	w->nr_cut = now;
	for (i = 0; i < w->target.map.nr; i++)
		fill_module(w, i);
	return true;
}

void ow_imagewalk_destroy(struct ow_imagewalk *w)
{
	if (!w)
		return;
	free(w->modules);
	free(w->map);
	free(w);
}
