/* SPDX-License-Identifier: BSD-2-Clause */
/* Names of functions that strip left compressed in .gnu_debugdata. */
#ifndef OW_MININAMES_H
#define OW_MININAMES_H

#include <stddef.h>
#include <stdint.h>

struct ow_object;
struct ow_mini;

/* The decompressed objects, each kept for the next question.  Zeros: none. */
struct ow_mininames {
	struct ow_mini *list;
	size_t nr;
};

/* As ow_procname_in() for what is inside obj, which has to stay until clear. */
int ow_mininames_find(struct ow_mininames *m, const struct ow_object *obj,
		      uint64_t vaddr, char *buf, size_t size,
		      uint64_t *off_ret);

/* Free and forget them all. */
void ow_mininames_clear(struct ow_mininames *m);

#endif /* OW_MININAMES_H */
