/* SPDX-License-Identifier: BSD-2-Clause */
/* Taking what is wanted out of babeltrace2's events. */
#ifndef OW_CTFFIELDS_H
#define OW_CTFFIELDS_H

#include <babeltrace2/babeltrace.h>

#include "ctfreader.h"

/*
 * Did the kernel's tracer record the event, as its trace says?  A trace that doesn't
 * say which tracer made it is taken for one of the kernel's.
 */
bool ctf_fields_are_kernels(const bt_event *event);

/* Fill all but time from an event. */
void ctf_fields_take(const bt_event *event, struct ctf_event *ret);

#endif /* OW_CTFFIELDS_H */
