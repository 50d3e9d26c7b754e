/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the processes of a trace had mapped, and when.
 *
 * Any process can map, fork and execute without end.  So all that is kept is of the
 * run's budget, where no process may have more than a quarter of what the others leave
 * over; nor may it of the objects that stacks are in.
 */
#ifndef OW_TRACEMAPS_H
#define OW_TRACEMAPS_H

#include <outwind/outwind.h>

#include "ctfreader.h"
#include "intern.h"
#include "tracelist.h"

/* Processes that have no names, or not all, for want of room. */
struct trace_lack {
	bool is_some, has_others;
	int64_t first; /* one of them */
};

/* One more has none, or not all. */
void trace_lack_add(struct trace_lack *l, int64_t pid);

/*
 * A program of a process.  A process' number is another one's after its end, and events
 * that tell of the end and of what begins then may be lost.
 */
struct trace_program {
	uint64_t birth; /* of the process; 0: events don't tell, as older ones didn't */
	uint64_t execs;
};

/* All zero, but for places and is_first_reading, is empty. */
struct tracemaps {
	struct ow_places *places;
	/* Events come twice: now it is only noted what is mapped later. */
	bool is_first_reading;
	uint64_t nr_events; /* that told of mappings, in this reading */
	struct trace_list processes;
	struct ow_intern texts;    /* names of hosts, and files */
	struct trace_lack memory;  /* not all of their mappings are kept */
	struct trace_lack objects; /* their stacks are in too many */
	/*
	 * Twice the number of losses until now, and one less while the last one may still
	 * go on, until lost_until.  What was told at another count may be another
	 * process' or program's, where events don't tell which.
	 */
	uint32_t losses;
	uint64_t lost_until;
	uint64_t nr_doubted; /* places asked for that are left out for that */
	bool failed; /* out of memory, some time: something is missing */
};

/*
 * The name of a host, by which it is known: one pointer for the same name.  NULL: it
 * would take more memory than it may.
 */
const char *tracemaps_host(struct tracemaps *t, const char *name);

/* Take what an event says of mappings, if it does; and its time. */
void tracemaps_take(struct tracemaps *t, const struct ctf_event *e);

/* Events were lost some time until end, which may have told of mappings. */
void tracemaps_lose(struct tracemaps *t, uint64_t end);

/* The first reading is over, and the events come once more. */
void tracemaps_again(struct tracemaps *t);

struct trace_place {
	unsigned int object; /* of places, 0: nothing was mapped there */
	uint64_t off;        /* in its file; without one, the address */
};

/* The program of a process that an event tells of. */
struct trace_program trace_program_of(const struct ctf_event *e);

/*
 * What a process has mapped at that address now, as the events tell that were taken;
 * or else, as what there was before the trace is told of a little later, the first
 * that it will have.  Nothing, if that is of another program than asked for, or may be.
 */
struct trace_place tracemaps_find(struct tracemaps *t, const char *host,
				  int64_t pid,
				  const struct trace_program *program,
				  uint64_t addr);

void tracemaps_deinit(struct tracemaps *t);

#endif /* OW_TRACEMAPS_H */
