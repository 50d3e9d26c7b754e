/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Code that other code took the place of while a process's threads were taken one
 * after another: what the stack of an earlier one tells of it isn't what is listed.
 */
#ifndef OW_REPLACED_H
#define OW_REPLACED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ow_mappings;
struct ow_region;

#define OW_MOST_REPLACED 64

struct ow_replaced {
	/* The list with number next has something else there, or nothing. */
	struct {
		uint64_t start, end;
		uint32_t next;
	} list[OW_MOST_REPLACED];

	size_t nr;
	bool is_any_time; /* each may have been replaced by earlier lists, too */
};

/*
 * Note where the list of mappings with number next has other code than the list before
 * it, or none.  Of more places than there is room for, the last one has all
 * that is between them.
 */
void ow_replaced_note(struct ow_replaced *r, const struct ow_mappings *before,
		      const struct ow_mappings *now, uint32_t next);

/* Note that the lists before the one with number next are of another program. */
void ow_replaced_note_all(struct ow_replaced *r, uint32_t next);

/* Return true if the code that the list with that number has at addr was replaced. */
bool ow_replaced_has(const struct ow_replaced *r, uint64_t addr, uint32_t list);

/* A copy of a part of a stack, to be looked through. */
struct ow_replaced_copy {
	struct ow_region *region;
	uint32_t list;     /* by which the thread was taken */
	unsigned int word; /* bytes of an address of that thread, */
	uint64_t mask;     /* of which only these bits count */
	size_t thread;     /* whose copy it is: the caller's */
	bool is_cut;       /* false; then true if its region ends earlier now */
};

/*
 * Let each copy end where its first word stands that leads to such code, if there is
 * one.  Bytes that several copies share are looked through once.  The copies get the
 * order in which their regions lie in memory.  Return how many words were looked at.
 */
size_t ow_replaced_cut(const struct ow_replaced *r,
		       struct ow_replaced_copy *copies, size_t nr);

#endif /* OW_REPLACED_H */
