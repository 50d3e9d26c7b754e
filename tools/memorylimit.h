/* SPDX-License-Identifier: BSD-2-Clause */
/* The argument of --memory-limit, for all tools that have it. */
#ifndef OW_MEMORYLIMIT_H
#define OW_MEMORYLIMIT_H

#include <stdbool.h>

/* Set the limit: a number of bytes, or of K, M or G of them.  False: it is none. */
bool memorylimit_take(const char *text);

#endif /* OW_MEMORYLIMIT_H */
