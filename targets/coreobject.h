/* SPDX-License-Identifier: BSD-2-Clause */
/* Opening what a core's program was made of. */
#ifndef OW_COREOBJECT_H
#define OW_COREOBJECT_H

#include "capture.h"

/*
 * Open the object of a module: the vDSO from memory; else the file, below
 * sysroot unless the user named it, if it has the build-id that the core tells;
 * else what the core's memory has of it, if that has CFI.
 */
struct ow_object *ow_coreobject_open(struct ow_capture *c,
				     struct ow_capture_module *m,
				     const char *sysroot, struct ow_error *err);

#endif /* OW_COREOBJECT_H */
