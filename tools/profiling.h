/* SPDX-License-Identifier: BSD-2-Clause */
/* What a recorder counted, with names, to a profile. */
#ifndef OW_PROFILING_H
#define OW_PROFILING_H

#include <outwind/record.h>

#include "profile.h"

/* Count what came since the last time.  Return 0 or what err says. */
int profiling_drain(struct profile *p, struct ow_recorder *r,
		    struct ow_error *err);

/* Count what ow_recorder_drain_some() gives: what is left may be named better. */
int profiling_drain_some(struct profile *p, struct ow_recorder *r,
			 struct ow_error *err);

/* Name one stack and add it to p. */
void profiling_add(struct profile *p, struct ow_recorder *r,
		   const struct ow_recorded *s);

/* The tallies of a recorder, as the profile keeps them. */
void profiling_tally(struct profile *p, struct ow_recorder *r);

#endif /* OW_PROFILING_H */
