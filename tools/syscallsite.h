/* SPDX-License-Identifier: BSD-2-Clause */
/* Where system calls are made, named once. */
#ifndef OW_SYSCALLSITE_H
#define OW_SYSCALLSITE_H

#include <outwind/record.h>

struct syscallsite {
	uint64_t hash;
	const struct ow_recorded *is; /* the first such stack */
	/* Who called: the first frame outside of the object with the call's
	   instruction, or else the innermost one. */
	char *function; /* or object; NULL: not known */
	char *place;    /* with the offset in it */
	char *stack;    /* lines; NULL: none were asked for */
};

/* All zero is empty; recorder and stacks are to be set. */
struct syscallsites {
	struct ow_recorder *recorder;
	bool stacks; /* are to have names, too */
	struct syscallsite *all;
	size_t nr, room; /* a power of two */
};

/*
 * Where a call with that stack was made; NULL if it has no frames, or when out
 * of memory.  It is valid until the next one is looked for.
 */
const struct syscallsite *syscallsite_of(struct syscallsites *s,
					 const struct ow_recorded *is);

void syscallsites_deinit(struct syscallsites *s);

#endif /* OW_SYSCALLSITE_H */
