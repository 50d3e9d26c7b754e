/* SPDX-License-Identifier: BSD-2-Clause */
/* Records of perf events (perf_event_open(2)), from a ring a CPU. */
#ifndef OW_PERFRING_H
#define OW_PERFRING_H

#include <outwind/record.h>

#include <linux/perf_event.h>

/* What a ring's records are of. */
enum ow_perfring_kind {
	OW_PERFRING_MAIN, /* samples, and what has no ring of its own */
	OW_PERFRING_LIVES, /* what processes do: they map, execute, fork, and end */
	OW_PERFRING_ASIDE, /* what nobody waits for */
};

struct ow_perfring {
	int fd; /* of the event that has it */
	int cpu;
	enum ow_perfring_kind kind;
	bool tells_lives; /* some of its records do */
	bool was_full; /* records may be lost of which the kernel has not told yet */
	struct perf_event_mmap_page *page; /* and behind it the records */
	size_t size;                       /* of those, a power of two */
	uint64_t tail, head;               /* of those to be read now */
	uint64_t next, last; /* times of the record at tail, and before it */
};

struct ow_perfrings {
	struct ow_perfring *all;
	size_t nr;
	int *fds; /* of events without one, whose records go to another's */
	size_t nr_fds, room_fds;
	bool is_limit_raised;            /* of files */
	uint8_t *record;                 /* one, in one piece */
	const struct ow_perfring *taken; /* the one whose record take() has */
};

/*
 * Open an event for a thread (-1: all there are) on each CPU.  attr asks for times
 * (ow_clocks_times()), and is changed where the kernel permits less: without its own
 * part, and by the CPU's clock.
 *
 * The kernel lets those wait who open one for a thread whose process executes a program:
 * for work of a delegate that has all files (delegate.h), if tid isn't -1.
 *
 * That takes a descriptor for each CPU, for which the process's soft limit of files is
 * raised to the hard one where it is too low.  A thread gets none of the last ones,
 * which other files need: then fail, and ow_perfrings_is_full() is true.
 */
int ow_perfrings_add(struct ow_perfrings *r, struct perf_event_attr *attr,
		     pid_t tid, struct ow_error *err);

/* Have the limit of files that such a delegate has raised, which is its own. */
void ow_perfrings_keep_limit(const struct ow_perfrings *r);

/* Close what was opened when there were so many descriptors, but for rings. */
void ow_perfrings_drop(struct ow_perfrings *r, size_t nr_fds);

/*
 * Open an event for all threads on each CPU, whose records tell what processes do.  They
 * have rings of their own, so that a flood of them costs no sample; or, where that would
 * be more memory than the user may lock, they share the rings of ow_perfrings_add(),
 * which was called before.
 */
int ow_perfrings_add_lives(struct ow_perfrings *r, struct perf_event_attr *attr,
			   struct ow_error *err);

/*
 * Open an event for all threads on each CPU, whose records have small rings of their
 * own: ow_perfrings_poll() does not wait for these.  filter is of a tracepoint, or
 * NULL.  False if that is not permitted, or would take descriptors that other files need.
 */
bool ow_perfrings_add_aside(struct ow_perfrings *r,
			    struct perf_event_attr *attr, const char *filter);

/*
 * Open an event that has no ring, for a thread on all CPUs (cpu -1) or for all threads
 * (tid -1) on one.  filter is of a tracepoint, or NULL.  Return the caller's descriptor;
 * or -1 and errno: EMFILE also where other files need the descriptor.  For a thread, it
 * is for work of such a delegate, too.
 */
int ow_perfring_open_event(struct perf_event_attr *attr, pid_t tid, int cpu,
			   const char *filter);

/* Return true if ow_perfrings_add() failed for want of descriptors. */
bool ow_perfrings_is_full(const struct ow_error *err);

void ow_perfrings_enable(struct ow_perfrings *r, bool enable);

/* Wait for records, ms at most; -1 and errno if a signal came. */
int ow_perfrings_poll(struct ow_perfrings *r, int ms);

/* When a record was made, ns. */
uint64_t ow_perfrings_time(const struct perf_event_header *h);

/* How many records a PERF_RECORD_LOST tells of. */
uint64_t ow_perfrings_lost(const struct perf_event_header *h);

/*
 * Give all records until now to take(), in the order of their times; r->taken is the
 * ring of each.  A record of a loss comes before all records that the lost ones may have
 * come before.  The kernel tells of a loss with the next record that it has room for; of a
 * ring that was full, take() gets such a record, of 0 lost ones, in advance.
 */
void ow_perfrings_read(struct ow_perfrings *r,
		       void (*take)(void *arg,
				    const struct perf_event_header *h),
		       void *arg);

void ow_perfrings_close(struct ow_perfrings *r);

#endif /* OW_PERFRING_H */
