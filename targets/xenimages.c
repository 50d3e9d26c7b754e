// SPDX-License-Identifier: BSD-2-Clause
#include "xenimages.h"

#include <stdlib.h>
#include <string.h>

#include "error.h"
#include "xenplace.h"

static int open_image(struct ow_xenimage *im, struct ow_xen *x,
		      const struct ow_xen_image *wanted,
		      const struct ow_nametable *names, struct ow_error *err)
{
	im->object = ow_object_open(wanted->path, err);
	if (!im->object)
		return -OW_CODE_ABSENT;
	im->bias = wanted->bias;
	if (wanted->placed || ow_xenplace_find(im->object, x, names, &im->bias))
		return 0;
	/* At a wrong place its names would be wrong. */
	if (ow_xenplace_is_movable(im->object))
		return ow_fail(err, OW_CODE_UNSUPPORTED,
			       "%s: the guest doesn't tell where this kernel "
			       "is: give FILE@BIAS (as @0 for one that was not "
			       "moved) or --kallsyms",
			       wanted->path);
	return 0;
}

int ow_xenimages_open(struct ow_xenimages *im, struct ow_xen *x,
		      const struct ow_xen_options *options,
		      const struct ow_nametable *names, struct ow_error *err)
{
	int failed = 0;

	im->nr = 0;
	im->list = calloc(options->nr_images + 1, sizeof(*im->list));
	if (!im->list)
		return ow_fail(err, OW_CODE_MEMORY, "out of memory");
	for (; im->nr < options->nr_images && !failed; im->nr++)
		failed = open_image(&im->list[im->nr], x,
				    &options->images[im->nr], names, err);
	return failed;
}

void ow_xenimages_free(struct ow_xenimages *im)
{
	size_t i;

	for (i = 0; i < im->nr; i++)
		ow_object_close(im->list[i].object);
	free(im->list);
	*im = (struct ow_xenimages){ 0 };
}

struct ow_object *ow_xenimages_take(struct ow_xenimages *im,
				    const struct ow_capture_module *m,
				    struct ow_error *err)
{
	struct ow_object *obj;
	size_t i;

	for (i = 0; i < im->nr; i++) {
		obj = im->list[i].object;
		if (!obj || strcmp(obj->path, m->path) != 0)
			continue;
		im->list[i].object = NULL;
		return obj;
	}
	ow_fail(err, OW_CODE_ABSENT, "%s: no such image", m->path);
	return NULL;
}

/* The code of an image, in modules that have room for it. */
static int add_code(const struct ow_xenimage *im, struct ow_capture *c,
		    struct ow_error *err)
{
	const struct ow_object *obj = im->object;
	struct ow_capture_module *m;
	struct ow_elf_segment seg;
	size_t before = c->nr_modules;
	uint32_t i;

	for (i = 0; ow_elf_segment(&obj->elf, i, &seg); i++) {
		if (seg.type != OW_PT_LOAD || !(seg.flags & OW_PF_X) ||
		    seg.vaddr + im->bias + seg.memsz <= seg.vaddr + im->bias)
			continue;
		m = &c->modules[c->nr_modules++];
		*m = (struct ow_capture_module){
			.path = strdup(obj->path),
			.start = seg.vaddr + im->bias,
			.end = seg.vaddr + im->bias + seg.memsz,
			.off = seg.off,
			.is_given = true,
		};
		if (!m->path)
			return ow_fail(err, OW_CODE_MEMORY, "out of memory");
	}
	if (c->nr_modules == before)
		return ow_fail(err, OW_CODE_FORMAT, "%s: no code to be loaded",
			       obj->path);
	return 0;
}

static int module_order(const void *a, const void *b)
{
	const struct ow_capture_module *x = a, *y = b;

	return (x->start > y->start) - (x->start < y->start);
}

/* Ranges of the sorted modules, and of what lies between them. */
static int make_ranges(struct ow_capture *c, bool fill, struct ow_error *err)
{
	struct ow_capture_module *m = c->modules;
	struct ow_range *r = c->ranges;
	uint64_t end = 0;
	size_t i;

	for (i = 0; i < c->nr_modules; i++, m++) {
		if (m->start < end)
			return ow_fail(err, OW_CODE_ARGUMENT,
				       "%s: lies where %s does: say where by "
				       "@BIAS",
				       m->path, m[-1].path);
		if (fill && m->start > end)
			*r++ = (struct ow_range){ end, m->start, NULL };
		*r++ = (struct ow_range){ m->start, m->end, &m->base };
		end = m->end;
	}
	if (fill && end < ~(uint64_t)0)
		*r++ = (struct ow_range){ end, ~(uint64_t)0, NULL };
	c->target.map.nr = (size_t)(r - c->ranges);
	ow_capture_sort(c);
	return 0;
}

int ow_xenimages_place(struct ow_xenimages *im, struct ow_capture *c, bool fill,
		       struct ow_error *err)
{
	struct ow_elf_segment seg;
	size_t most = 0, i;
	uint32_t k;
	int failed = 0;

	for (i = 0; i < im->nr; i++)
		for (k = 0; ow_elf_segment(&im->list[i].object->elf, k, &seg);
		     k++)
			most++;
	c->modules = calloc(most + 1, sizeof(*c->modules));
	c->ranges = calloc(2 * most + 1, sizeof(*c->ranges));
	if (!c->modules || !c->ranges)
		return ow_fail(err, OW_CODE_MEMORY, "out of memory");
	for (i = 0; i < im->nr && !failed; i++)
		failed = add_code(&im->list[i], c, err);
	if (failed)
		return failed;
	if (c->nr_modules)
		qsort(c->modules, c->nr_modules, sizeof(*c->modules),
		      module_order);
	return make_ranges(c, fill, err);
}
