/* SPDX-License-Identifier: BSD-2-Clause */
/* What a capture keeps of its snapshot, and the objects that this tells of. */
#ifndef OW_SNAPKEPT_H
#define OW_SNAPKEPT_H

#include "capture.h"
#include "fileobject.h"
#include "snapformat.h"

/* The priv of a capture; it points into the bytes. */
struct ow_snapkept {
	uint8_t *bytes; /* of the sections */
	size_t size;
	struct ow_snap snap;
	char *sysroot; /* or NULL */
	char *exe;     /* the program, given by the user, or NULL */
	struct ow_openfiles files;

	struct ow_snapheld {
		uint64_t at, size;        /* in OW_SNAP_OBJECT_BYTES */
		struct ow_object *object; /* or NULL */
		bool is_tried;
	} * held; /* objects whose bytes are in the snapshot */

	size_t nr_held;
};

void ow_snapkept_free(void *kept);

/* Find the objects in the parsed snapshot; memory is the capture's.  0, or fill err. */
int ow_snapkept_find_objects(struct ow_snapkept *k, struct ow_capture *c,
			     struct ow_error *err);

/*
 * The object of a module: its bytes in the snapshot, or else a file that is
 * surely the same build.
 */
struct ow_object *ow_snapkept_open(struct ow_capture *c,
				   struct ow_capture_module *m,
				   struct ow_error *err);

#endif /* OW_SNAPKEPT_H */
