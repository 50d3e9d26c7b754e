/* SPDX-License-Identifier: BSD-2-Clause */
/* What threads of a trace have begun, until it ends: system calls, and waits. */
#ifndef OW_TRACEOPEN_H
#define OW_TRACEOPEN_H

#include "tracelist.h"
#include "tracestack.h"

/* All zero is empty. */
struct trace_open {
	struct trace_list threads;
};

/* An event with its stack, which is the table's from now on. */
void trace_open_begin(struct trace_open *o, unsigned int host,
		      const struct ctf_event *e, struct trace_stack *s);

/* Call ended() for each stack that the event is the end of. */
void trace_open_end(struct trace_open *o, unsigned int host,
		    const struct ctf_event *e,
		    void (*ended)(void *arg, const struct trace_stack *s,
				  const struct ctf_event *end),
		    void *arg);

void trace_open_deinit(struct trace_open *o);

#endif /* OW_TRACEOPEN_H */
