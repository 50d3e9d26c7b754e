// SPDX-License-Identifier: BSD-2-Clause
#include "coreobject.h"

#include <stdlib.h>
#include <string.h>

#include "error.h"
#include "fileobject.h"

/* The number of the region that begins with the object's file header. */
static bool find_head(const struct ow_capture *c,
		      const struct ow_capture_module *m, size_t *ret)
{
	const struct ow_region *r = ow_capture_region_at(c, m->head);

	if (!r || r->start != m->head)
		return false;
	*ret = (size_t)(r - c->regions);
	return true;
}

static bool make_images(const struct ow_capture *c, struct ow_coreobjects *o)
{
	if (!o->images) {
		o->images = calloc(c->nr_regions + 1, sizeof(*o->images));
		o->nr_images = o->images ? c->nr_regions : 0;
	}
	return o->images;
}

/*
 * The object's image as far as its first region has it; all of the vDSO.  The
 * modules of one region share it.
 */
static struct ow_object *open_image(const struct ow_capture *c,
				    const struct ow_capture_module *m,
				    struct ow_coreobjects *o,
				    struct ow_error *err)
{
	const struct ow_region *r;
	struct ow_image *image;
	size_t i;

	if (!find_head(c, m, &i) || !make_images(c, o)) {
		ow_fail(err, OW_CODE_ABSENT, "%s: not in the core", m->path);
		return NULL;
	}
	r = &c->regions[i];
	image = &o->images[i];
	if (!image->is_tried)
		image->object =
			ow_object_of_bytes(r->bytes, r->size, m->path, NULL);
	image->is_tried = true;
	if (image->object)
		return ow_object_share(image->object);
	ow_fail(err, OW_CODE_FORMAT, "%s: not an ELF file", m->path);
	return NULL;
}

/* The same, if it is of any use. */
static struct ow_object *open_image_with_cfi(const struct ow_capture *c,
					     const struct ow_capture_module *m,
					     struct ow_coreobjects *o)
{
	struct ow_object *obj = open_image(c, m, o, NULL);

	if (obj && !ow_object_load_cfi(obj, NULL) &&
	    (obj->cfi.hdr_table || obj->cfi.eh_index.nr))
		return obj;
	ow_object_close(obj);
	return NULL;
}

/* Set what is known of the file that was running, if the core has its first page. */
static void want_loaded(const struct ow_capture *c,
			const struct ow_capture_module *m, struct ow_elf *elf,
			struct ow_wanted_file *w)
{
	struct ow_elf_segment last;
	size_t i;

	if (!find_head(c, m, &i) ||
	    ow_elf_parse(elf, c->regions[i].bytes, c->regions[i].size))
		return;
	w->build_id = ow_elf_build_id(elf, &w->build_id_size);
	/* Some headers of segments may lie in the next page. */
	if (elf->phnum && ow_elf_segment(elf, elf->phnum - 1, &last))
		w->loaded = elf;
}

struct ow_object *ow_coreobject_open(struct ow_capture *c,
				     struct ow_capture_module *m,
				     struct ow_coreobjects *o,
				     struct ow_error *err)
{
	struct ow_wanted_file w = {
		.path = m->path,
		.sysroot = m->is_given ? NULL : o->sysroot,
	};
	struct ow_error why = { 0 };
	struct ow_object *obj;
	struct ow_elf elf;

	if (strcmp(m->path, "[vdso]") == 0)
		return open_image(c, m, o, err);
	want_loaded(c, m, &elf, &w);
	obj = ow_openfiles_share(&o->files, ow_fileobject_open(&w, &why));
	if (!obj)
		obj = open_image_with_cfi(c, m, o);
	if (!obj && err)
		*err = why;
	return obj;
}

void ow_coreobjects_free(struct ow_coreobjects *o)
{
	size_t i;

	for (i = 0; i < o->nr_images; i++)
		ow_object_close(o->images[i].object);
	free(o->images);
	ow_openfiles_free(&o->files);
	free(o->sysroot);
}
