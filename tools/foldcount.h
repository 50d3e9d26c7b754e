/* SPDX-License-Identifier: BSD-2-Clause */
/* How often each line came: stacks of many samples in one line each. */
#ifndef OW_FOLDCOUNT_H
#define OW_FOLDCOUNT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct foldcount_entry;

/* All zero is empty. */
struct foldcount {
	struct foldcount_entry *entries; /* hashed, at most half full */
	size_t nr, room;
};

/* Count text of that size, without a newline; false when out of memory. */
bool foldcount_add(struct foldcount *f, const char *text, size_t size);

/* "TEXT COUNT" lines, in the order of the texts' bytes. */
void foldcount_print(struct foldcount *f, FILE *out);

void foldcount_deinit(struct foldcount *f);

#endif /* OW_FOLDCOUNT_H */
