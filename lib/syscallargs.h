/* SPDX-License-Identifier: BSD-2-Clause */
/* What system calls take. */
#ifndef OW_SYSCALLARGS_H
#define OW_SYSCALLARGS_H

#include <outwind/record.h>

/* By the call's name; NULL if it isn't known. */
const struct ow_syscall_shape *ow_syscall_shape_of(const char *name);

#endif /* OW_SYSCALLARGS_H */
