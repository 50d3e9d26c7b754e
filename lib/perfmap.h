/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Names of code that a JIT made, from the file that it keeps for perf: one
 * "START SIZE NAME" a line, numbers in hexadecimal.  (Linux
 * tools/perf/Documentation/jit-interface.txt)
 */
#ifndef OW_PERFMAP_H
#define OW_PERFMAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "symtab.h"

struct ow_perfmap;

/*
 * Read the map of a process: in its own /tmp, under the pid that it has
 * itself, or in ours.  NULL if there is none that is to be trusted: a regular
 * file that the process' user or root owns.
 */
struct ow_perfmap *ow_perfmap_open(pid_t pid);

/* The same from bytes, which are copied.  path is for people. */
struct ow_perfmap *ow_perfmap_parse(const char *bytes, size_t size,
				    const char *path);

/* The code that was at addr last, by the order of lines; or false. */
bool ow_perfmap_find(const struct ow_perfmap *map, uint64_t addr,
		     struct ow_symbol *ret);

const char *ow_perfmap_path(const struct ow_perfmap *map);

void ow_perfmap_close(struct ow_perfmap *map);

#endif /* OW_PERFMAP_H */
