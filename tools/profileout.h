/* SPDX-License-Identifier: BSD-2-Clause */
/* A profile in a format, and what is said of what that leaves out. */
#ifndef OW_PROFILEOUT_H
#define OW_PROFILEOUT_H

#include <stdio.h>

#include "profile.h"

/*
 * Write the profile.  Return EXIT_WELL; EXIT_SOME, with a complaint, if stacks are left
 * out as their text would be too long; or EXIT_NONE when out of memory.
 */
int profileout_write(const struct profile_writer *writer, FILE *out,
		     const struct profile *p,
		     const struct profile_options *options);

#endif /* OW_PROFILEOUT_H */
