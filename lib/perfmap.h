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

#include "owner.h"
#include "symtab.h"

struct ow_perfmap;

#define OW_PERFMAP_MAX ((size_t)256 << 20) /* what of a file is read */

/*
 * Read the map of a process; NULL if ow_perfplace_open() finds none, or what serves
 * it does not answer.  Of a map that takes more memory than it may, the first lines
 * are read (ow_budget_refuse()).
 */
struct ow_perfmap *ow_perfmap_open(pid_t pid);

/* The same from bytes of the owner's user, which are copied.  path is for people. */
struct ow_perfmap *ow_perfmap_parse(const char *bytes, size_t size,
				    struct ow_owner own, const char *path);

/* The code that was at addr last, by the order of lines; or false. */
bool ow_perfmap_find(const struct ow_perfmap *map, uint64_t addr,
		     struct ow_symbol *ret);

/*
 * The same, when the map had but its first end bytes; of code that was told
 * later only, what was told first.
 */
bool ow_perfmap_find_as_of(const struct ow_perfmap *map, uint64_t addr,
			   size_t end, struct ow_symbol *ret);

const char *ow_perfmap_path(const struct ow_perfmap *map);

void ow_perfmap_close(struct ow_perfmap *map);

#endif /* OW_PERFMAP_H */
