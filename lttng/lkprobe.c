// SPDX-License-Identifier: GPL-2.0-only
/* LTTng makes a probe of the events' header by including it again and again. */
#include "lkprobe.h"

#include <linux/module.h>
#include <lttng/tracer.h>
#include <wrapper/tracepoint.h>

#include "lkstack.h"
#include "lktrace.h"

#define LTTNG_PACKAGE_BUILD
#define CREATE_TRACE_POINTS
#define TP_MODULE_NOAUTOLOAD
/* clang-format off */
#define TRACE_INCLUDE_PATH instrumentation/events
/* clang-format on */
#include <instrumentation/events/kunwind.h>

int lk_probe_init(void)
{
	return __lttng_events_init__kunwind();
}

void lk_probe_exit(void)
{
	__lttng_events_exit__kunwind();
}
