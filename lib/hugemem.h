/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Memory for what is large, written once and given back soon.  Where the kernel
 * has huge pages for it, it takes a fault for 2 MiB instead of 4 KiB.
 */
#ifndef OW_HUGEMEM_H
#define OW_HUGEMEM_H

#include <stddef.h>

/* Not zeroed; NULL when out of memory. */
void *ow_hugemem_alloc(size_t size);

/* To be larger; moved, perhaps.  NULL when out of memory: it is as before. */
void *ow_hugemem_grow(void *p, size_t size, size_t more);

/* size is what was asked for. */
void ow_hugemem_free(void *p, size_t size);

#endif /* OW_HUGEMEM_H */
