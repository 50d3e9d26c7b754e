/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A line of a trace as uniprof writes it: an address, or what is no frame and
 * is copied: a comment, a count, an empty line, a name.
 */
#ifndef OW_TRACELINE_H
#define OW_TRACELINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Longer lines are no addresses: 18 characters with "0x", and some blanks
 * around them.
 */
#define OW_TRACELINE_MAX 64

/*
 * The address in a line without its newline, or false.  Digits from 0 to 9
 * alone are a count, which ends a stack.
 */
bool ow_traceline_address(const char *line, size_t size, uint64_t *ret);

#endif /* OW_TRACELINE_H */
