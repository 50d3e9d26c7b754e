/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef OW_QUOTED_H
#define OW_QUOTED_H

#include <stdio.h>

/*
 * Bytes as C writes a string of them, in quotation marks, so that nothing in it
 * can steer a terminal.
 */
void quoted_put(FILE *out, const char *text, size_t size);

/* How many bytes that takes at most. */
size_t quoted_size(const char *text, size_t size);

#endif /* OW_QUOTED_H */
