/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The vDSO that the kernel gives programs.  A process can write to its own, and the module
 * has one table of it for all processes: so it is read from a process of ours.
 */
#ifndef OW_KWVDSO_H
#define OW_KWVDSO_H

#include <sys/types.h>

#include <outwind/outwind.h>

#include "object.h"

/*
 * Open a copy of the vDSO of programs such as process pid, whose own one lies at start and
 * has size bytes: it tells only which one it is.  Return NULL and fill err if it is none,
 * or if no program of ours runs as such programs do.  Close it by ow_object_close().
 */
struct ow_object *ow_kwvdso_open(pid_t pid, uint64_t start, size_t size,
				 struct ow_error *err);

#endif /* OW_KWVDSO_H */
