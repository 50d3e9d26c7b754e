/* SPDX-License-Identifier: BSD-2-Clause */
/* What a guest runs: ELF files at their places, as the user names them. */
#ifndef OW_XENIMAGES_H
#define OW_XENIMAGES_H

#include "capture.h"
#include "xendomain.h"

struct ow_nametable;

struct ow_xenimage {
	struct ow_object *object; /* until a module takes it over */
	uint64_t bias;
};

struct ow_xenimages {
	struct ow_xenimage *list;
	size_t nr;
};

/*
 * Open the images and find out where they are: where the user says, or a Linux
 * kernel where the interrupt table of a vCPU or the names tell, or else where
 * they are linked.  names may be NULL.  0 or fill err; ow_xenimages_free() in
 * any case.
 */
int ow_xenimages_open(struct ow_xenimages *im, struct ow_xen *x,
		      const struct ow_xen_options *options,
		      const struct ow_nametable *names, struct ow_error *err);
void ow_xenimages_free(struct ow_xenimages *im);

/*
 * Make the capture's modules and ranges of them; fill says that all other
 * addresses may be code, too.  0 or fill err.
 */
int ow_xenimages_place(struct ow_xenimages *im, struct ow_capture *c, bool fill,
		       struct ow_error *err);

/* What is for ow_capture's open(): the object of a module. */
struct ow_object *ow_xenimages_take(struct ow_xenimages *im,
				    const struct ow_capture_module *m,
				    struct ow_error *err);

#endif /* OW_XENIMAGES_H */
