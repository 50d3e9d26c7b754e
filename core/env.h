/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What the core asks of the place it is compiled for: fixed-width integers
 * and their limits, bool, size_t, memcpy, memmove, memset, memcmp.  Nothing else in core/
 * includes a system header, and nothing else tests where it is compiled.
 */
#ifndef OW_ENV_H
#define OW_ENV_H

#ifdef __KERNEL__
#include <linux/limits.h>
#include <linux/nospec.h>
#include <linux/string.h>
#include <linux/types.h>

#define INT32_MAX  S32_MAX
#define UINT32_MAX U32_MAX
#define UINT64_MAX U64_MAX

/* An index below nr, also where the CPU runs ahead of that having been checked. */
#define ow_index(i, nr) array_index_nospec(i, nr)
#else
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

void *memcpy(void *dst, const void *src, size_t n);
void *memmove(void *dst, const void *src, size_t n);
void *memset(void *dst, int c, size_t n);
int memcmp(const void *a, const void *b, size_t n);

#define ow_index(i, nr) (i)
#endif

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__,
	       "targets' bytes are read as they stand");

/* What is written once, for a function that it is given as a constant. */
#define OW_TEMPLATE static inline __attribute__((always_inline))

/* What is not to make the frame larger of who calls it. */
#define OW_APART static __attribute__((__noinline__))

/*
 * Keep what was read into x as it is: the compiler could else read it again where it is
 * used, and others may write there meanwhile.
 */
#define ow_keep(x) __asm__("" : "+r"(x))

#define ow_unlikely(x) __builtin_expect(!!(x), 0)

#define OW_ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))

#endif /* OW_ENV_H */
