/* SPDX-License-Identifier: BSD-2-Clause */
/* What the processes of a trace had mapped, and when. */
#ifndef OW_TRACEMAPS_H
#define OW_TRACEMAPS_H

#include <outwind/outwind.h>

#include "ctfreader.h"
#include "tracelist.h"

/* All zero, but for places, is empty. */
struct tracemaps {
	struct ow_places *places;
	struct trace_list processes;
	char **hosts;
	size_t nr_hosts;
	bool failed; /* out of memory, some time: something is missing */
};

/* The number of a host, the same for the same name. */
unsigned int tracemaps_host(struct tracemaps *t, const char *name);

/* Take what an event says of mappings, if it does. */
void tracemaps_take(struct tracemaps *t, const struct ctf_event *e);

struct trace_place {
	unsigned int object; /* of places, 0: nothing was mapped there */
	uint64_t off;        /* in its file; without one, the address */
};

/* What a process had mapped at that address at that time. */
struct trace_place tracemaps_find(const struct tracemaps *t, unsigned int host,
				  int64_t pid, uint64_t time, uint64_t addr);

void tracemaps_deinit(struct tracemaps *t);

#endif /* OW_TRACEMAPS_H */
