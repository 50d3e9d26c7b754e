// SPDX-License-Identifier: BSD-2-Clause
#include "clocks.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "error.h"

/* What the kernel takes now: it lowers that where its interrupts take long. */
static unsigned int most_hz(void)
{
	FILE *f = fopen("/proc/sys/kernel/perf_event_max_sample_rate", "re");
	unsigned int hz = 0;

	if (!f)
		return UINT_MAX;
	if (fscanf(f, "%u", &hz) != 1 || hz == 0)
		hz = UINT_MAX;
	fclose(f);
	return hz;
}

void ow_clocks_cycles(struct perf_event_attr *attr, unsigned int frequency)
{
	unsigned int most = most_hz();

	*attr = (struct perf_event_attr){
		.type = PERF_TYPE_HARDWARE,
		.size = sizeof(*attr),
		.config = PERF_COUNT_HW_CPU_CYCLES,
		.freq = 1,
		.sample_freq = frequency < most ? frequency : most,
		.exclude_idle = 1,
		.exclude_hv = 1,
		.disabled = 1,
	};
}

void ow_clocks_faults(struct perf_event_attr *attr)
{
	*attr = (struct perf_event_attr){
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(*attr),
		.config = PERF_COUNT_SW_PAGE_FAULTS,
		.sample_period = 1,
		.disabled = 1,
	};
}

void ow_clocks_times(struct perf_event_attr *attr)
{
	attr->sample_id_all = 1;
	attr->sample_type |= PERF_SAMPLE_TIME;
	attr->use_clockid = 1;
	attr->clockid = CLOCK_MONOTONIC;
}

void ow_clocks_mappings(struct perf_event_attr *attr)
{
	*attr = (struct perf_event_attr){
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(*attr),
		.config = PERF_COUNT_SW_DUMMY,
		.mmap = 1,
		.mmap2 = 1,
		.comm = 1,
		.comm_exec = 1,
		.task = 1,
		.watermark = 1,
		.wakeup_watermark = 1,
		.disabled = 1,
	};
	ow_clocks_times(attr);
}

static int open_event(struct perf_event_attr *attr, pid_t pid, int cpu)
{
	return (int)syscall(SYS_perf_event_open, attr, pid, cpu, -1,
			    PERF_FLAG_FD_CLOEXEC);
}

/* A CPU may count cycles in name only, as in some guests. */
static int open_clock(struct perf_event_attr *attr, pid_t pid, int cpu)
{
	int fd = open_event(attr, pid, cpu);

	if (fd >= 0 || attr->type != PERF_TYPE_HARDWARE || errno == EACCES ||
	    errno == EPERM)
		return fd;
	attr->type = PERF_TYPE_SOFTWARE;
	attr->config = PERF_COUNT_SW_CPU_CLOCK;
	return open_event(attr, pid, cpu);
}

int ow_clocks_open(struct ow_clocks *c, struct perf_event_attr *attr, pid_t pid,
		   struct ow_error *err)
{
	long cpu, nr = sysconf(_SC_NPROCESSORS_CONF);
	int fd;

	*c = (struct ow_clocks){ .fds = calloc((size_t)nr, sizeof(int)) };
	if (!c->fds)
		return ow_fail(err, OW_CODE_MEMORY, "out of memory");
	for (cpu = 0; cpu < nr; cpu++) {
		fd = open_clock(attr, pid, (int)cpu);
		if (fd >= 0)
			c->fds[c->nr++] = fd;
		else if (errno != ENODEV) /* that CPU is offline */
			break;
	}
	c->name = attr->type == PERF_TYPE_HARDWARE ? "cycles" : "cpu-clock";
	if (cpu == nr && c->nr)
		return 0;
	if (errno == EACCES || errno == EPERM)
		return ow_fail(err, OW_CODE_PERMISSION,
			       "perf events aren't permitted: root or "
			       "CAP_PERFMON is needed, or "
			       "kernel.perf_event_paranoid below its %s",
			       "present value");
	return ow_fail(err, OW_CODE_SYSTEM, "perf_event_open");
}

void ow_clocks_close(struct ow_clocks *c)
{
	size_t i;

	for (i = 0; i < c->nr; i++)
		close(c->fds[i]);
	free(c->fds);
	*c = (struct ow_clocks){ 0 };
}
