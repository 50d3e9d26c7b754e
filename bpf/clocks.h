/* SPDX-License-Identifier: BSD-2-Clause */
/* The kernel's events that samples come by, one for each CPU. */
#ifndef OW_CLOCKS_H
#define OW_CLOCKS_H

#include <outwind/record.h>

#include <linux/perf_event.h>

struct ow_clocks {
	int *fds;
	size_t nr;
	const char *name;
};

/*
 * Open an event on every CPU that is online, disabled; attr is changed where
 * that is needed: cycles become the CPU's clock where no hardware counts them.
 * pid as in perf_event_open(2).
 */
int ow_clocks_open(struct ow_clocks *c, struct perf_event_attr *attr, pid_t pid,
		   struct ow_error *err);
void ow_clocks_close(struct ow_clocks *c);

/* Have each record tell its time, by CLOCK_MONOTONIC. */
void ow_clocks_times(struct perf_event_attr *attr);

/*
 * Cycles at a frequency, or at as high a one as the kernel takes; page faults; or
 * what processes map.
 */
void ow_clocks_cycles(struct perf_event_attr *attr, unsigned int frequency);
void ow_clocks_faults(struct perf_event_attr *attr);
void ow_clocks_mappings(struct perf_event_attr *attr);

#endif /* OW_CLOCKS_H */
