/* SPDX-License-Identifier: BSD-2-Clause */
/* Objects' tables, for the module: ow_kunwind_add() and ow_kunwind_add_vdso(). */
#ifndef OW_KWOBJECT_H
#define OW_KWOBJECT_H

#include <outwind/kunwind.h>

#endif /* OW_KWOBJECT_H */
