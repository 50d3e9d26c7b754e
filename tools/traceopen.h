/* SPDX-License-Identifier: BSD-2-Clause */
/* What threads of a trace have begun, until it ends: system calls, and waits. */
#ifndef OW_TRACEOPEN_H
#define OW_TRACEOPEN_H

#include "tracelist.h"
#include "tracestack.h"

/*
 * All zero is empty.  What is kept is of the run's budget, and no process's threads may
 * have more than a quarter of what the others leave over.  Of what many processes have
 * begun that never ends, what began first is left out when there is no more room.
 */
struct trace_open {
	struct trace_list threads, processes; /* that have begun something */
	struct trace_thread *oldest, *newest; /* by when they began it */
	uint64_t nr_left_out;   /* stacks for which there was no room */
	struct trace_lack lack; /* whose those are */
};

/*
 * An event with its stack, which is the table's from now on; host is what
 * tracemaps_host() says.
 */
void trace_open_begin(struct trace_open *o, const char *host,
		      const struct ctf_event *e, struct trace_stack *s);

/* Call ended() for each stack that the event is the end of. */
void trace_open_end(struct trace_open *o, const char *host,
		    const struct ctf_event *e,
		    void (*ended)(void *arg, const struct trace_stack *s,
				  const struct ctf_event *end),
		    void *arg);

void trace_open_deinit(struct trace_open *o);

#endif /* OW_TRACEOPEN_H */
