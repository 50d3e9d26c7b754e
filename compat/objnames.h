/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Names of the functions of several objects, also of those that strip left compressed in
 * .gnu_debugdata.
 */
#ifndef OW_OBJNAMES_H
#define OW_OBJNAMES_H

#include <stddef.h>
#include <stdint.h>

struct ow_object;
struct ow_objname;

/* What is known of each object, kept for the next question.  Zeros: nothing. */
struct ow_objnames {
	struct ow_objname *list;
	size_t nr;
};

/* As ow_funcnames_find(), of obj, which has to stay until clear. */
int ow_objnames_find(struct ow_objnames *n, const struct ow_object *obj,
		     uint64_t vaddr, char *buf, size_t size, uint64_t *off_ret);

/* Free and forget them all. */
void ow_objnames_clear(struct ow_objnames *n);

#endif /* OW_OBJNAMES_H */
