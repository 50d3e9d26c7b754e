/* SPDX-License-Identifier: BSD-2-Clause */
/* Compressed sections (gABI, SHF_COMPRESSED; and GNU's older .zdebug_*). */
#ifndef OW_INFLATE_H
#define OW_INFLATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ow_owner;

/* The bytes of a section of a 64-bit object or not. */
struct ow_packed {
	const uint8_t *bytes;
	size_t size;
	bool is_64;
	bool is_gnu; /* it is named .zdebug_* */
};

/* Contents, allocated; room is what was taken for them (budget.h). */
struct ow_unpacked {
	uint8_t *bytes;
	size_t size, room;
};

/*
 * Decompress a section.  Memory grows with what comes out, whatever size the
 * section declares, and is taken from the budget for the owner of *own.  Return
 * 0, and the contents are the caller's; -OW_CODE_FORMAT if they are damaged, of
 * an unknown kind, or out of all proportion; -OW_CODE_MEMORY if they are more
 * than the owner may have; -OW_CODE_TIMEOUT if the run has decompressed too much
 * (bulk.h).
 */
int ow_inflate(const struct ow_packed *packed, struct ow_owner *own,
	       struct ow_unpacked *ret);

/* Free the contents, and give back what was taken for them. */
void ow_inflate_free(struct ow_unpacked *u, struct ow_owner *own);

#endif /* OW_INFLATE_H */
