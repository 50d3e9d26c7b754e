/* SPDX-License-Identifier: BSD-2-Clause */
/* Finding the file behind a mapping of a process. */
#ifndef OW_PROCOBJECT_H
#define OW_PROCOBJECT_H

#include "capture.h"

/*
 * Open what a module of a live process is mapped from, whatever has become of
 * its name: by map_files, which holds on to deleted and replaced files; by
 * /proc/PID/exe; by the path as the process sees it (/proc/PID/root), if it is
 * the same file; or as a copy of the process's memory.
 */
struct ow_object *ow_procobject_open(struct ow_capture *c,
				     struct ow_capture_module *m,
				     struct ow_error *err);

#endif /* OW_PROCOBJECT_H */
