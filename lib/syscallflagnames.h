/* SPDX-License-Identifier: BSD-2-Clause */
/* What system calls' arguments are made of: values and bits that have names. */
#ifndef OW_SYSCALLFLAGNAMES_H
#define OW_SYSCALLFLAGNAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ow_flagname {
	uint32_t value;
	char name[32];
};

/* How an argument's value is made up. */
struct ow_flagnames {
	char kind;
	uint32_t field; /* bits that one of values lies in; 0: all, if it is 0 */
	const struct ow_flagname *values, *bits;
	size_t nr_values, nr_bits;
	bool is_long; /* all bits count, not the lower 32 only */
};

/* By a letter of struct ow_syscall_shape; NULL if it has none. */
const struct ow_flagnames *ow_flagnames_of(char kind);

#endif /* OW_SYSCALLFLAGNAMES_H */
