/* SPDX-License-Identifier: BSD-2-Clause */
/* Opening what a core's program was made of. */
#ifndef OW_COREOBJECT_H
#define OW_COREOBJECT_H

#include "capture.h"
#include "fileobject.h"

/* What the modules of a core share. */
struct ow_coreobjects {
	char *sysroot; /* or NULL */
	struct ow_openfiles files;

	struct ow_image {
		struct ow_object *object; /* or NULL */
		bool is_tried;
	} * images; /* one of each region, once any is needed */

	size_t nr_images;
};

/*
 * Open the object of a module: the vDSO from memory; else the file, below
 * sysroot unless the user named it, if it has the build-id that the core tells;
 * else what the core's memory has of it, if that has CFI.
 */
struct ow_object *ow_coreobject_open(struct ow_capture *c,
				     struct ow_capture_module *m,
				     struct ow_coreobjects *o,
				     struct ow_error *err);

void ow_coreobjects_free(struct ow_coreobjects *o);

#endif /* OW_COREOBJECT_H */
