/* SPDX-License-Identifier: BSD-2-Clause */
/* The bytes of a core file, decompressed if need be. */
#ifndef OW_COREBYTES_H
#define OW_COREBYTES_H

#include <stddef.h>
#include <stdint.h>

struct ow_error;
struct ow_capture_options;
struct ow_filemap;

struct ow_corebytes {
	const uint8_t *bytes; /* mapped, so that only what is read costs */
	size_t size;
	struct ow_filemap *map;
	char damage[96]; /* what is wrong with a compressed one, or "" */
};

/*
 * Map the file.  What is compressed goes to a file without a name below TMPDIR
 * (or /var/tmp), as holes where it is zero; what was compressed well before
 * damage is used.  Return 0 or fill err.
 */
int ow_corebytes_open(struct ow_corebytes *b, const char *path,
		      const struct ow_capture_options *options,
		      struct ow_error *err);

void ow_corebytes_close(struct ow_corebytes *b);

#endif /* OW_COREBYTES_H */
