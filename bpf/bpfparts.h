/* SPDX-License-Identifier: BSD-2-Clause */
/* What the engine of BPF programs consists of. */
#ifndef OW_BPFPARTS_H
#define OW_BPFPARTS_H

#include "bpfhaste.h"
#include "bpftables.h"
#include "clocks.h"
#include "copywalk.h"
#include "lives.h"
#include "recorder.h"

struct sampler_bpf; /* of the generated skeleton */
struct ring_buffer; /* of libbpf */
struct bpf_link;
struct ow_bpfawaited;
struct ow_subuids;

struct ow_bpfengine {
	struct sampler_bpf *skel;
	struct ow_bpftables tables;
	struct ow_bpf_range *ranges; /* the map of them, mapped */
	struct ring_buffer *ring;
	struct ow_clocks cycles, faults;
	struct ow_lives lives;
	const struct ow_subuids *subuids; /* that the programs know */
	struct ow_copywalk copies;
	pid_t *changed; /* whose mappings the kernel isn't told of yet: */
	size_t first_changed, nr_changed, room_changed; /* from first on */
	/* The kernel is told of a process when a sample has hit it, and tables are
	   made when one asks for them; or else of all at once. */
	bool is_lazy;
	/* There is no time to tell the kernel of the process that is looked at. */
	bool is_pressed;
	struct ow_bpfawaited *awaited; /* images told of before their tables */
	size_t nr_awaited, room_awaited;
	uint64_t deadline; /* CLOCK_MONOTONIC: no event is taken after it */
	struct bpf_link **links;
	size_t nr_links;
	uint64_t nr_taken;                 /* events, ever */
	uint64_t ends[OW_NR_ENDS], frames; /* of copies */
	struct ow_bpfhaste haste; /* with what takes time, at the end */
	uint64_t fence;    /* CLOCK_MONOTONIC: nor one from after it; or 0 */
	bool is_at_fence;  /* one from after it was taken */
	bool loses_copies; /* there is no time to walk what waits before it */
	uint64_t collected_by; /* CLOCK_MONOTONIC: counts that come with events */
	uint64_t lost;         /* counts of stacks that weren't taken in time */
	uint64_t read_to;   /* CLOCK_MONOTONIC: events until then are taken */
	uint64_t emptied;   /* CLOCK_MONOTONIC: counts were, the last time */
	bool may_drop;      /* all calls of counts before these are taken */
	uint64_t stackless; /* calls whose stack isn't stored */
	uint64_t waiting;   /* threads that did so when recording began */
	uint64_t ended; /* CLOCK_MONOTONIC: nothing is taken any more; or 0 */
	int stats_fd;   /* makes the kernel measure programs, or -1 */
};

#endif /* OW_BPFPARTS_H */
