/* SPDX-License-Identifier: BSD-2-Clause */
/* Objects' tables, for the module: ow_kunwind_add() and ow_kunwind_add_vdso(). */
#ifndef OW_KWOBJECT_H
#define OW_KWOBJECT_H

#include <outwind/kunwind.h>

/* As ow_kunwind_add(), for the process that an event is about, whose user pays. */
int ow_kwobject_add(int dev, int fd, const char *path,
		    const struct ow_kunwind_event *what, struct ow_error *err);

#endif /* OW_KWOBJECT_H */
