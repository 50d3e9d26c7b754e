// SPDX-License-Identifier: BSD-2-Clause
#include "coreobject.h"

#include <stdlib.h>
#include <string.h>

#include "error.h"
#include "fileobject.h"

/* The region that begins with the object's file header, or NULL. */
static const struct ow_region *head_region(const struct ow_capture *c,
					   const struct ow_capture_module *m)
{
	size_t i;

	for (i = 0; i < c->nr_regions; i++)
		if (c->regions[i].start == m->head)
			return &c->regions[i];
	return NULL;
}

/* The object's image as far as its first region has it; all of the vDSO. */
static struct ow_object *open_image(const struct ow_capture *c,
				    const struct ow_capture_module *m,
				    struct ow_error *err)
{
	const struct ow_region *r = head_region(c, m);
	uint8_t *bytes = r ? malloc(r->size) : NULL;

	if (!bytes) {
		ow_fail(err, OW_CODE_ABSENT, "%s: not in the core", m->path);
		return NULL;
	}
	memcpy(bytes, r->bytes, r->size);
	return ow_object_from_image(bytes, r->size, m->path, err);
}

/* The same, if it is of any use. */
static struct ow_object *open_image_with_cfi(const struct ow_capture *c,
					     const struct ow_capture_module *m)
{
	struct ow_object *obj = open_image(c, m, NULL);

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
	const struct ow_region *r = head_region(c, m);
	struct ow_elf_segment last;

	if (!r || ow_elf_parse(elf, r->bytes, r->size))
		return;
	w->build_id = ow_elf_build_id(elf, &w->build_id_size);
	/* Some headers of segments may lie in the next page. */
	if (elf->phnum && ow_elf_segment(elf, elf->phnum - 1, &last))
		w->loaded = elf;
}

struct ow_object *ow_coreobject_open(struct ow_capture *c,
				     struct ow_capture_module *m,
				     const char *sysroot, struct ow_error *err)
{
	struct ow_wanted_file w = {
		.path = m->path,
		.sysroot = m->is_given ? NULL : sysroot,
	};
	struct ow_error why = { 0 };
	struct ow_object *obj;
	struct ow_elf elf;

	if (strcmp(m->path, "[vdso]") == 0)
		return open_image(c, m, err);
	want_loaded(c, m, &elf, &w);
	obj = ow_fileobject_open(&w, &why);
	if (!obj)
		obj = open_image_with_cfi(c, m);
	if (!obj && err)
		*err = why;
	return obj;
}
