/* SPDX-License-Identifier: BSD-2-Clause */
/* Taking what is wanted out of babeltrace2's events. */
#ifndef OW_CTFFIELDS_H
#define OW_CTFFIELDS_H

#include <babeltrace2/babeltrace.h>

#include "ctfreader.h"

/*
 * Return true if the kernel's tracer recorded a stream's events, as its trace says.  A
 * trace that doesn't say which tracer made it is taken for one of the kernel's.
 */
bool ctf_fields_are_kernels(const bt_stream *stream);

/* Return true if a stream may have events that tell what processes have mapped. */
bool ctf_fields_tell_maps(const bt_stream *stream);

/* Fill all but time from an event. */
void ctf_fields_take(const bt_event *event, struct ctf_event *ret);

#endif /* OW_CTFFIELDS_H */
