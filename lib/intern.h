/* SPDX-License-Identifier: BSD-2-Clause */
/* Strings kept once each, until all of them go. */
#ifndef OW_INTERN_H
#define OW_INTERN_H

#include <stddef.h>

struct ow_intern_string;

/* All zero is an empty one. */
struct ow_intern {
	struct ow_intern_string **buckets;
	size_t nr, nr_buckets; /* a power of two */
};

/* Bytes of a text that are kept; "..." stands for the rest. */
#define OW_INTERN_LONGEST 16384

/* The kept copy of text, or NULL for NULL and when out of memory. */
const char *ow_intern_add(struct ow_intern *in, const char *text);

void ow_intern_deinit(struct ow_intern *in);

#endif /* OW_INTERN_H */
